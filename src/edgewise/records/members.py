"""One member of a record file: safetensors, written as it comes and mapped when it is read.

The format is eight bytes of length, that many bytes of JSON, and the numbers. It is read and written here rather than
by its library because the library knows no bfloat16 without torch, wants a whole file in memory or a file of its own,
and aligns nothing inside another file. Tests read what is written here with the library.

Each head of each sequence has a checksum of its own, so that one head of a file of any size is checked at the cost of
that head.
"""

import json
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from jaxtyping import UInt8
from numpy.typing import NDArray

from edgewise.records.arrays import BITS, Array

__all__ = ["CODES", "DamagedError", "Member", "checksum", "header", "pieces"]

# What safetensors calls each dtype.
CODES = {
    "bool": "BOOL",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "int32": "I32",
}
# Numbers begin at a multiple of this in the file, so that any processor reads them where they lie.
ALIGNED = 64
PAGE = 512  # eight-byte words that are summed before they are weighted

Buffer = UInt8[np.ndarray, " bytes"]


class DamagedError(ValueError):
    """What is wrong with a member, for the one who knows the file's name."""


def checksum(bits: NDArray[Any]) -> int:
    """Return Σ (2i + 1) · sᵢ modulo 2⁶⁴, sᵢ the sum of the i-th 512 little-endian words of eight bytes.

    It is as fast as the memory, any changed bit changes it, and so does the order of pages.
    """
    flat = np.ascontiguousarray(bits).reshape(-1).view(np.uint8)
    whole = flat.size // (8 * PAGE) * 8 * PAGE
    last = np.zeros(8 * PAGE, np.uint8)
    last[: flat.size - whole] = flat[whole:]
    sums = np.append(flat[:whole].view(np.uint64).reshape(-1, PAGE).sum(1), last.view(np.uint64).sum())
    return int((sums * np.arange(1, 2 * sums.size, 2, dtype=np.uint64)).sum())


def pieces(bits: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the parts of an array that have checksums of their own: heads of sequences, or all of it if it is small."""
    if bits.ndim < 3:
        yield np.ascontiguousarray(bits)
        return
    for sequence in bits:
        yield from map(np.ascontiguousarray, sequence)


def header(tensors: dict[str, Array], begin: int) -> tuple[bytes, dict[str, int]]:
    """Return what stands before the numbers of a member that begins at `begin`, and where in the file each array will.

    The arrays follow in the order of the dictionary returned.
    """
    order = sorted(tensors, key=lambda name: -BITS[tensors[name].dtype].itemsize)
    sums = {name: [checksum(piece) for piece in pieces(tensors[name].bits)] for name in order}
    described: dict[str, Any] = {"__metadata__": {"checksums": json.dumps(sums)}}
    places, at = dict[str, int](), 0
    for name in order:
        array = tensors[name]
        offsets = [at, at + array.nbytes]
        described[name] = {"dtype": CODES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        places[name] = at
        at = offsets[1]
    text = json.dumps(described).encode()
    text += b" " * (-(begin + 8 + len(text)) % ALIGNED)
    data = begin + 8 + len(text)
    return len(text).to_bytes(8, "little") + text, {name: data + place for name, place in places.items()}


class Member:
    """A member of a mapped file, whose arrays are looked at and checked only when they are asked for.

    Args:
        memory: the bytes of the member.
    """

    def __init__(self, memory: Callable[[], Buffer]) -> None:
        self._memory = memory
        self._described: dict[str, Any] | None = None
        self._data: Buffer = np.zeros(0, np.uint8)
        self._checked: set[tuple[str, int]] = set()

    def read(self, name: str, dtype: str, shape: tuple[int, ...], place: tuple[int, ...]) -> NDArray[Any]:
        """Return the bits of an array, or of some of its sequences and heads: () for all.

        Raises:
            DamagedError: the member is not what was written.
        """
        described = self._header()
        entry = described.get(name)
        if not isinstance(entry, dict) or (entry.get("dtype"), entry.get("shape")) != (CODES[dtype], list(shape)):
            raise DamagedError(f"it should hold {name}, {dtype} of shape {shape}")
        size = prod(shape) * BITS[dtype].itemsize
        start, stop = entry.get("data_offsets", (0, -1))
        if not 0 <= start <= stop <= self._data.size or stop - start != size:
            raise DamagedError(f"{name} should have {size} bytes")
        bits = self._data[start:stop].view(BITS[dtype]).reshape(shape)
        self._check(name, bits, place)
        return bits[place]

    def _header(self) -> dict[str, Any]:
        if self._described is not None:
            return self._described
        memory = self._memory()
        length = int.from_bytes(memory[:8].tobytes(), "little")
        try:
            described = json.loads(memory[8 : 8 + length].tobytes())
            self._sums = json.loads(described["__metadata__"]["checksums"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise DamagedError("its header cannot be read") from None
        self._data = memory[8 + length :]
        self._described = described
        return described

    def _check(self, name: str, bits: NDArray[Any], place: tuple[int, ...]) -> None:
        lead = bits.shape[:2] if bits.ndim >= 3 else ()
        wanted = np.arange(prod(lead)).reshape(lead)[place[: len(lead)]].reshape(-1) if lead else np.zeros(1, int)
        try:
            sums = self._sums[name]
            for number in wanted.tolist():
                if (name, number) in self._checked:
                    continue
                piece = bits[np.unravel_index(number, lead)] if lead else bits
                if checksum(piece) != sums[number]:
                    raise DamagedError(f"the numbers of {name} are not those that were written (checksum)")
                self._checked.add((name, number))
        except (KeyError, IndexError, TypeError):
            raise DamagedError(f"it has no checksum of {name}") from None
