"""Keys and values of cached steps, held once: what a step has in common with the one before is not held again.

A step of generation sees the keys of all steps before it. Held apart they would grow with the square of the text, and
a cache that is written in place would change them. So each site has one store that grows, and a step is a length in it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from edgewise.tracing.captured import Captured, own

__all__ = ["Growing"]


@dataclass(eq=False)
class _Store:
    """Rows (batch, groups, key, width) with room for more."""

    rows: Tensor
    length: int

    @classmethod
    def of(cls, tensor: Tensor) -> "_Store":
        return cls(tensor.clone(), tensor.shape[2])

    def begins(self, tensor: Tensor) -> bool:
        """Whether the tensor begins with all that is here."""
        held = self.rows[:, :, : self.length]
        return tensor.dtype == held.dtype and torch.equal(held, tensor[:, :, : self.length])

    def grown(self, tensor: Tensor) -> Tensor:
        """All rows of a tensor that begins with what is here, from the store."""
        length = tensor.shape[2]
        if length > self.rows.shape[2]:
            room = self.rows.new_empty(*self.rows.shape[:2], max(length, 2 * self.rows.shape[2]), self.rows.shape[3])
            room[:, :, : self.length] = self.rows[:, :, : self.length]
            self.rows = room
        self.rows[:, :, self.length : length] = tensor[:, :, self.length :]
        self.length = length
        return self.rows[:, :, :length]


class Growing:
    """The stores of all sites."""

    def __init__(self) -> None:
        self._stores: dict[str, tuple[_Store, _Store]] = {}
        self._last: dict[str, Captured] = {}

    def held(self, one: Captured, *, reused: bool) -> Captured:
        """The call, with keys and values from the store where it goes on from the call before.

        Args:
            one: the call.
            reused: whether its keys lie in a cache of fixed size, which will be written into.
        """
        name = one.site.name
        before = self._last.get(name)
        if before is not None and one.cached and one.cached == before.key.shape[2]:
            stores = self._stores.get(name) or (_Store.of(before.key), _Store.of(before.value))
            if _alike(before, one) and stores[0].begins(one.key) and stores[1].begins(one.value):
                self._stores[name] = stores
                self._last[name] = own(one, stores[0].grown(one.key), stores[1].grown(one.value))
                return self._last[name]
        self._stores.pop(name, None)
        if reused or one.cached:
            one = own(one, one.key.clone(), one.value.clone())
        self._last[name] = one
        return one


def _alike(one: Captured, other: Captured) -> bool:
    return one.key.shape[:2] == other.key.shape[:2] and one.kept.heads == other.kept.heads
