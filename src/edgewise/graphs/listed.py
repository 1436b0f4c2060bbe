"""The rules that read a list, an entry a key: documents (who is in one text with whom) and keys (padding).

Lists, numpy arrays and torch tensors are taken; torch itself is not imported. A 2-D list gives each sequence of a batch
edges of its own.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int32, Int64

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs.graph import Graph, whole_number
from edgewise.graphs.ranges import Ranges
from edgewise.graphs.shorthand import shorthand

__all__ = ["Documents", "Keys", "documents", "keys"]


class _Listed(Graph):
    """A rule that indexes one array, (key,) or (batch, key).

    Its runs lie on *lines*: one line of keys for each document, or for each sequence's kept keys. Line l is the stretch
    from l × (length + 1), so that all runs of all lines are one sorted array, and finding those of a row is a search.
    """

    values: np.ndarray

    def __init__(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values)
        values.setflags(write=False)
        self.__dict__["values"] = values

    @property
    def batch(self) -> int | None:
        return self.values.shape[0] if self.values.ndim == 2 else None

    @property
    def length(self) -> int | None:
        return self.values.shape[-1]

    @cached_property
    def identity(self) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleMethodOverride] # hashing once
        return (self.values.shape, hashlib.blake2b(self.values.data, digest_size=16).digest())

    def arrays(self) -> tuple[np.ndarray, ...]:
        return (self.values,)

    def _runs(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        """Return start and stop of each run of equal neighbours, in one sequence after the other, without lines."""
        length = self.values.shape[-1]
        new = np.ones(self.values.shape, dtype=bool)
        new[..., 1:] = self.values[..., 1:] != self.values[..., :-1]
        start = np.flatnonzero(new)
        return start, np.append(start[1:], new.size) if length else start

    @cached_property
    def _lines(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        """Start and stop of each run on its line, sorted."""
        raise NotImplementedError

    def _search(
        self,
        line: Int64[np.ndarray, "*batch rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        """Return the runs of each row's line within [low, high)."""
        starts, stops = self._lines
        base = line * (key + 1)
        low, high = np.broadcast_arrays(low, high)
        first = np.searchsorted(stops, base + low, "right")
        last = np.where(low < high, np.searchsorted(starts, base + high, "left"), 0)
        index = first[..., None, :] + np.arange(max(1, int((last - first).max(initial=1))))[:, None]
        valid = index < last[..., None, :]
        index = np.minimum(index, max(0, starts.size - 1))
        base, low, high = base[..., None, :], low[..., None, :], high[..., None, :]
        if not starts.size:
            starts = stops = np.zeros(1, np.int64)
        start = np.where(valid, np.maximum(starts[index] - base, low), key)
        return Ranges(start, np.where(valid, np.minimum(stops[index] - base, high), key), key)


class Documents(_Listed):
    """Positions of one document read each other. Ids are renumbered by first use, so that equal cuts are equal graphs."""

    @cached_property
    def _lines(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        start, stop = self._runs()
        length = self.values.shape[-1]
        sequence = start // length
        line = sequence * self._widest + self.values.reshape(-1)[start]
        shift = line * (length + 1) - sequence * length
        start, stop = start + shift, stop + shift
        order = np.argsort(start, kind="stable")
        return start[order], stop[order]

    @cached_property
    def _widest(self) -> int:
        """Documents in the sequence that has most."""
        return int(self.values.max()) + 1

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        ids = next(arrays)
        # A row before the first key belongs to no document; it looks up the first one's id, and the answer is dropped.
        inside = query >= 0
        query = query * inside
        one, other = (ids[query], ids[key]) if self.batch is None else (ids[batch, query], ids[batch, key])
        return (one == other) & inside

    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        line = self.values[..., np.maximum(positions, 0)].astype(np.int64)
        if self.batch is not None:
            line += np.arange(self.batch)[:, None] * self._widest
        return self._search(line, key, low, np.where(positions >= 0, high, 0))

    def __repr__(self) -> str:
        if self.batch is None and bool((self.values[1:] >= self.values[:-1]).all()):
            start, stop = self._runs()
            return f"documents(cumulative={shorthand(np.append(start, stop[-1:]), repeats=False)})"
        return f"documents({shorthand(self.values)})"


class Keys(_Listed):
    """Keys that may be read, by everyone."""

    @cached_property
    def _lines(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        start, stop = self._runs()
        kept = self.values.reshape(-1)[start]
        start, stop = start[kept], stop[kept]
        sequence = start // self.values.shape[-1]
        return start + sequence, stop + sequence

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        keep = next(arrays)
        return (keep[key] if self.batch is None else keep[batch, key]) & (query == query)  # noqa: PLR0124 # spreads over rows

    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        line = np.zeros(positions.size, np.int64)
        if self.batch is not None:
            line = line + np.arange(self.batch)[:, None]
        return self._search(line, key, low, high)

    def __repr__(self) -> str:
        return f"keys({shorthand(self.values.astype(np.int8))})"


def documents(ids: Any = None, *, cumulative: Any = None) -> Graph:
    """Return the graph on which positions of one document read each other, both ways.

    Args:
        ids: a whole number a key, (key,) or (batch, key): equal numbers are one document, wherever they stand. No number
            is special.
        cumulative: instead of ids, where documents begin and, last, where the text ends: [0, 3, 7] is a document of 3
            positions and one of 4.

    Raises:
        ArgumentError: not exactly one of both is given, or it does not hold whole numbers, or they do not rise from 0.
        ShapeError: `ids` is neither 1-D nor 2-D, `cumulative` is not 1-D, or there is no position.

    Example:
        >>> print((causal() & documents(cumulative=[0, 1, 3])).draw(3, 3))
        ■ · ·
        · ■ ·
        · ■ ■
    """
    if (ids is None) == (cumulative is None):
        raise ArgumentError(
            "documents wants ids, a number a key, or cumulative=[0, …, length], one of them; "
            f"got {'neither' if ids is None else 'both'}"
        )
    if cumulative is not None:
        ids = _ids(_array(cumulative, "cumulative"))
    found = _array(ids, "ids")
    if found.dtype.kind not in "iu":
        raise ArgumentError(
            f"ids of documents must be whole numbers, one a key; got {found.dtype}"
            + (": a padding mask goes to keys(keep)" if found.dtype.kind == "b" else "")
        )
    _shape(found, "ids of documents")
    return Documents(_renumbered(found))


def keys(keep: Any) -> Graph:
    """Return the graph on which everyone reads the kept keys and no other.

    Args:
        keep: True or 1 for a key that may be read, False or 0 for padding; (key,) or (batch, key).

    Raises:
        ArgumentError: `keep` holds something else.
        ShapeError: `keep` is neither 1-D nor 2-D, or there is no key.

    Example:
        >>> print((causal() & keys([0, 1, 1])).draw(3, 3))
        · · ·
        · ■ ·
        · ■ ■
    """
    found = _array(keep, "keep")
    _shape(found, "keep of keys")
    if found.dtype.kind not in "biu":
        raise ArgumentError(
            f"keep of keys must hold True and False, or 1 and 0; got {found.dtype}"
            + (
                ": an additive mask (0 and −inf) is kept where it is 0: keys(mask == 0)"
                if found.dtype.kind == "f"
                else ""
            )
        )
    if found.dtype.kind != "b" and bool(((found != 0) & (found != 1)).any()):
        wrong = found[(found != 0) & (found != 1)][0]
        raise ArgumentError(f"keep of keys must hold True and False, or 1 and 0; got {wrong}: ids go to documents(ids)")
    return Keys(found.astype(bool))


def _array(values: Any, name: str) -> np.ndarray:
    # A torch tensor may need to leave its graph and its device first; anything else numpy takes as it is.
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    try:
        found = np.array(values)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be a list of one length, or one such list a sequence; {error}") from error
    if found.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must be a list, an array or a tensor of numbers; got {_short(values)}")
    return found


def _shape(found: np.ndarray, name: str) -> None:
    if found.ndim not in (1, 2) or not found.size:
        hint = ": drop the axes of size 1" if found.ndim > 2 else ""
        raise ShapeError(f"{name} must be (key,) or (batch, key), with at least one key; got shape {found.shape}{hint}")


def _ids(cumulative: np.ndarray) -> Int64[np.ndarray, " key"]:
    if cumulative.ndim != 1:
        raise ShapeError(f"cumulative of documents must be 1-D; got shape {cumulative.shape}; for a batch give ids")
    if (
        cumulative.dtype.kind not in "iu"
        or cumulative.size < 2
        or cumulative[0] != 0
        or (np.diff(cumulative) < 1).any()
    ):
        raise ArgumentError(
            "cumulative of documents must be whole numbers that rise from 0 to the length, as [0, 3, 7]; "
            f"got {_short(cumulative.tolist())}"
        )
    return np.repeat(np.arange(cumulative.size - 1), np.diff(cumulative))


def _renumbered(ids: np.ndarray) -> Int32[np.ndarray, "*batch key"]:
    """Return ids renumbered by first use, sequence by sequence."""
    if ids.ndim == 2:
        return np.stack([_renumbered(sequence) for sequence in ids])
    if bool((ids[1:] >= ids[:-1]).all()):
        return np.append(0, np.cumsum(ids[1:] != ids[:-1])).astype(np.int32)
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int32)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[place.reshape(-1)]


def _short(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else text[:57] + "…"
