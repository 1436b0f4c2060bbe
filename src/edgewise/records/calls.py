"""The calls of a record as a sequence that makes a call only when somebody asks for it."""

from collections.abc import Callable, Iterable, Sequence
from typing import overload

from edgewise.records.call import Call
from edgewise.records.site import Site

__all__ = ["Calls"]


class Calls(Sequence[Call]):
    """Calls in the order in which they happened; their sites are known without making any of them.

    Args:
        sites: the site of each call.
        make: what makes a call, given its number.
    """

    def __init__(self, sites: Sequence[Site], make: Callable[[int], Call]) -> None:
        self.sites = sites
        self._make = make
        self._made: dict[int, Call] = {}

    @classmethod
    def of(cls, calls: Iterable[Call]) -> "Calls":
        """Return a sequence of calls that are there already."""
        held = tuple(calls)
        return cls([call.site for call in held], held.__getitem__)

    def __len__(self) -> int:
        return len(self.sites)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Call, ...]: ...

    def __getitem__(self, index: int | slice) -> Call | tuple[Call, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        place = range(len(self))[index]
        if place not in self._made:
            self._made[place] = self._make(place)
        return self._made[place]
