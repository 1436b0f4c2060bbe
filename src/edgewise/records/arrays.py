"""Numbers exactly as attention held them, in memory or in a file, and wide only when they are asked for.

numpy has no bfloat16, so an `Array` names its dtype itself and keeps bfloat16 as its 16 bits. Where the numbers lie is
the affair of a `Source`: in memory here, mapped from a file in `edgewise.records.reader`.
"""

from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from edgewise.errors import ArgumentError

__all__ = ["BITS", "FLOATS", "Array", "Held", "Source", "bfloat16_bits", "same_bits", "widened"]

# The numpy type that holds the bits of each dtype.
BITS: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(np.uint16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "int32": np.dtype(np.int32),
}

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


@runtime_checkable
class Source(Protocol):
    """Where the bits of an array lie."""

    def read(self, place: tuple[int, ...]) -> NDArray[Any]:
        """Return the bits at `place`: () for all, (batch,) or (batch, head) for a part."""
        ...

    def continues(self, other: "Source") -> bool:
        """Return whether this is known, without looking, to begin with all rows of `other`."""
        ...


class Held:
    """Bits in memory."""

    def __init__(self, bits: NDArray[Any]) -> None:
        self.bits = bits

    def read(self, place: tuple[int, ...]) -> NDArray[Any]:
        """Return the bits at `place`."""
        return self.bits[place]

    def continues(self, other: Source) -> bool:
        """Return whether they are the same bits in memory."""
        return isinstance(other, Held) and other.bits is self.bits


class Array:
    """Numbers in the dtype in which they were, of a fixed shape; read-only.

    Args:
        dtype: "float16", "bfloat16", "float32", "float64", "bool" or "int32".
        shape: sizes, as numpy has them.
        source: where the bits lie.

    Example:
        >>> Array.of(np.array([1.5, 2.0], dtype=np.float16))
        Array(float16, (2,))
        >>> Array.of(np.array([0x3FC0], dtype=np.uint16), "bfloat16").float32()
        array([1.5], dtype=float32)
    """

    __slots__ = ("__weakref__", "dtype", "shape", "source")

    def __init__(self, dtype: str, shape: tuple[int, ...], source: Source) -> None:
        self.dtype, self.shape, self.source = dtype, shape, source

    @classmethod
    def of(cls, bits: Any, dtype: str | None = None) -> "Array":
        """Return an array that holds these numbers; they are not copied, so nobody may change them afterwards.

        Args:
            bits: a numpy array of one of the types above; of uint16 where `dtype` is "bfloat16".
            dtype: what the bits mean; None for numpy's own dtype.

        Raises:
            ArgumentError: the numbers are of a type that an array does not hold.
        """
        found: NDArray[Any] = np.asarray(bits)
        name = found.dtype.name if dtype is None else dtype
        if BITS.get(name) != found.dtype:
            raise ArgumentError(
                f"an array holds {', '.join(BITS)}, bfloat16 as the uint16 of its bits; "
                f"got {found.dtype} for {name}: convert it first"
            )
        held = found.view()
        held.setflags(write=False)
        return cls(name, held.shape, Held(held))

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return prod(self.shape) * BITS[self.dtype].itemsize

    @property
    def bits(self) -> NDArray[Any]:
        """The numbers as they are held: numpy's own types, and uint16 for bfloat16."""
        return self.source.read(())

    def at(self, *place: int) -> NDArray[Any]:
        """Return the bits of one sequence, (batch,), or of one head, (batch, head), touching no others."""
        return self.source.read(place)

    def float32(self, *place: int) -> NDArray[np.float32]:
        """Return the numbers, or those at a place, as float32: exact but for float64."""
        return self.wide(np.dtype(np.float32), *place)

    def wide(self, dtype: np.dtype[Any], *place: int) -> NDArray[Any]:
        """Return the numbers, or those at a place, in float32 or float64."""
        return widened(self.at(*place), self.dtype, dtype)

    def __repr__(self) -> str:
        return f"Array({self.dtype}, {self.shape})"


def widened(bits: NDArray[Any], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return bits of the dtype called `name` as numbers in a wide dtype."""
    if name == "bfloat16":
        # bfloat16 is the upper half of a float32.
        bits = (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(dtype, copy=False)


def same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays of one type hold the same bits; NaN is not equal to itself, but its bits are."""
    # One sequence at a time: where they differ, it is mostly at once.
    whole = f"u{one.itemsize}"
    return one.shape == other.shape and all(
        np.array_equal(a.view(whole), b.view(whole)) for a, b in zip(one, other, strict=True)
    )


def bfloat16_bits(numbers: NDArray[np.floating[Any]]) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16, ties to even.

    Example:
        >>> hex(bfloat16_bits(np.array([1.0]))[0])
        '0x3f80'
    """
    whole = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    rounded = ((whole + (0x7FFF + ((whole >> 16) & 1))) >> 16).astype(np.uint16)
    # Rounding may carry a NaN into infinity: a NaN keeps its upper bits and stays quiet.
    return np.where(np.isnan(whole.view(np.float32)), (whole >> 16).astype(np.uint16) | 0x40, rounded)
