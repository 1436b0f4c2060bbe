"""What a call shares with an earlier one, so that it is written once.

Writing one token at a time, the keys of each step are those of the step before and one more: kept whole at every step,
a text of T tokens would take room for T². And the layers of a model mostly share one mask or one bias.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.records.arrays import BITS, Array, same_bits
from edgewise.records.call import Call

__all__ = ["Repeats"]

# Returns the bits of an array that has been written: where it begins, and its dtype and shape.
Look = Callable[[int, np.dtype[Any], tuple[int, ...]], NDArray[Any]]


class Repeats:
    """Remembers what has been written, by its place in the file rather than by holding it.

    Args:
        look: reads back what has been written.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._lines: dict[tuple[str, str], _Line] = {}
        self._whole: dict[bytes, int] = {}

    def rest(self, call: Call, name: str, array: Array) -> tuple[int | None, Array | None]:
        """Return the number of the call that has the beginning of `array`, and the rows that follow it, if any."""
        if name in ("key", "value"):
            line = self._lines.get((call.site.name, name))
            return (None, array) if line is None else line.rest(array)
        if name in ("allowed", "bias"):
            known = self._whole.get(_digest(name, array))
            return (None, array) if known is None else (known, None)
        return None, array

    def wrote(self, call: Call, name: str, after: int | None, own: Array | None, begin: int, number: int) -> None:
        """Remember that call `number` has `own` from `begin` in the file, behind what call `after` has."""
        if name in ("key", "value"):
            place = (call.site.name, name)
            if after is None and own is not None:
                self._lines[place] = _Line(self._look, begin, own.dtype, own.shape, number)
            else:
                self._lines[place].grow(own, number)
        elif name in ("allowed", "bias") and own is not None:
            self._whole[_digest(name, own)] = number


@dataclass(eq=False)
class _Line:
    """The keys or the values of a site: those of its first call in the file, and those of its steps."""

    look: Look
    begin: int
    dtype: str
    shape: tuple[int, ...]
    number: int
    steps: list[NDArray[Any]] = field(default_factory=list[NDArray[Any]])
    first: NDArray[Any] | None = None

    def rest(self, array: Array) -> tuple[int | None, Array | None]:
        """Return the last call's number and the rows after its own, if `array` begins with these, bit for bit."""
        batch, groups, rows, width = self.shape
        parts = [rows, *(step.shape[2] for step in self.steps)]
        alike = (array.dtype, array.shape[:2], array.shape[3:]) == (self.dtype, (batch, groups), (width,))
        if not alike or array.shape[2] < sum(parts) or not all(self.shape):
            return None, array
        if self.first is None:
            self.first = self.look(self.begin, BITS[self.dtype], self.shape)
        self.steps = [np.concatenate(self.steps, axis=2)] if self.steps else []
        bits, at = array.bits, 0
        for known in (self.first, *self.steps):
            if not same_bits(bits[:, :, at : at + known.shape[2]], known):
                return None, array
            at += known.shape[2]
        return self.number, Array.of(bits[:, :, at:], array.dtype) if at < bits.shape[2] else None

    def grow(self, own: Array | None, number: int) -> None:
        """Add the rows of a step."""
        self.number = number
        if own is not None:
            self.steps.append(np.array(own.bits))


def _digest(name: str, array: Array) -> bytes:
    digest = hashlib.blake2b(f"{name} {array.dtype} {array.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(array.bits).data)
    return digest.digest()
