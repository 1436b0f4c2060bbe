"""Sets of keys, one per row, as intervals: what makes a graph cost O(rows × runs) instead of O(rows × keys).

A *run* is an interval [start, stop) of neighbouring keys. Every function here takes and returns runs in one normal form
(see `Ranges`), so that two equal sets are equal arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

__all__ = ["Ranges", "Rows", "complement", "intersection", "join", "single", "union"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that ask which keys they may read, and the stretch in which each looks.

    Args:
        positions: where each row stands; negative before the first key.
        key: number of keys.
        low: first key of the stretch.
        high: one past its last key; the stretch is empty where that is `low`.
    """

    positions: Int64[np.ndarray, " rows"]
    key: int
    low: Int64[np.ndarray, "*batch rows"]
    high: Int64[np.ndarray, "*batch rows"]

    @classmethod
    def of(cls, positions: Int64[np.ndarray, " rows"], key: int) -> "Rows":
        """Return rows that look everywhere."""
        return cls(positions, key, np.zeros(positions.size, np.int64), np.full(positions.size, key, np.int64))


@dataclass(frozen=True, eq=False)
class Ranges:
    """The keys that each row may read, as runs: disjoint, sorted, never touching, empty ones last.

    Args:
        start: first key of each run; `key` for an empty run.
        stop: one past the last key of each run; `key` for an empty run.
        key: number of keys, the end of the line on which the runs lie.

    Example:
        >>> from edgewise.graphs import causal, window
        >>> window(2).ranges(3, 3).start
        array([[0, 0, 1]])
    """

    start: Int64[np.ndarray, "*batch runs rows"]
    stop: Int64[np.ndarray, "*batch runs rows"]
    key: int

    @property
    def runs(self) -> int:
        """Runs stored per row, at least 1: the most that any row needs."""
        return self.start.shape[-2]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.start.shape[-1]

    @property
    def batch(self) -> int | None:
        """Sequences that have sets of their own; None where one set serves all."""
        return self.start.shape[0] if self.start.ndim == 3 else None

    def counts(self) -> Int64[np.ndarray, "*batch rows"]:
        """Return how many keys each row may read."""
        return (self.stop - self.start).sum(-2)

    def hull(self) -> tuple[Int64[np.ndarray, "*batch rows"], Int64[np.ndarray, "*batch rows"]]:
        """Return the first key of each row and one past its last; both are `key` where the row reads nothing."""
        first = self.start[..., 0, :]
        if self.runs == 1:
            return first, self.stop[..., 0, :]
        last = np.where(self.start < self.stop, self.stop, 0).max(-2)
        return first, np.where(first < self.key, last, self.key)

    def row(self, row: int, batch: int = 0) -> list[tuple[int, int]]:
        """Return the runs of one row as (start, stop) pairs, empty ones left out."""
        start, stop = (one[batch] if self.batch is not None else one for one in (self.start, self.stop))
        return [(int(a), int(b)) for a, b in zip(start[:, row], stop[:, row], strict=True) if a < b]

    def sequence(self, batch: int) -> "Ranges":
        """Return the runs of one sequence of a batch."""
        return self if self.batch is None else _trimmed(self.start[batch], self.stop[batch], self.key)

    def part(self, rows: slice) -> "Ranges":
        """Return the runs of some rows."""
        return _trimmed(self.start[..., rows], self.stop[..., rows], self.key)

    def spread(self, batch: int) -> "Ranges":
        """Return the same runs with an axis of `batch` sequences, where there is none yet or one of size 1."""
        shape = (batch, self.runs, self.rows)
        return Ranges(np.broadcast_to(self.start, shape), np.broadcast_to(self.stop, shape), self.key)

    def same(self, other: "Ranges") -> bool:
        """Return whether both hold the same sets; one without a batch stands for every sequence."""
        if self.key != other.key or self.runs != other.runs or self.rows != other.rows:
            return False
        return bool((self.start == other.start).all() and (self.stop == other.stop).all())

    def dense(self) -> Bool[np.ndarray, "*batch rows {self.key}"]:
        """Return the sets as booleans, row by key: O(rows × keys)."""
        keys = np.arange(self.key)
        allowed = np.zeros((*self.start.shape[:-2], self.rows, self.key), dtype=bool)
        for run in range(self.runs):
            start, stop = self.start[..., run, :, None], self.stop[..., run, :, None]
            allowed |= (start <= keys) & (keys < stop)
        return allowed

    @classmethod
    def from_dense(cls, allowed: Bool[np.ndarray, "*batch rows keys"]) -> "Ranges":
        """Return the runs of a boolean array, row by key: O(rows × keys)."""
        *lead, key = allowed.shape
        edge = np.zeros((int(np.prod(lead)), key + 1), dtype=np.int8)
        flat = allowed.reshape(-1, key).astype(np.int8)
        edge[:, :-1] += flat
        edge[:, 1:] -= flat
        line, start = np.nonzero(edge > 0)
        stop = np.nonzero(edge < 0)[1]
        per_line = np.bincount(line, minlength=edge.shape[0])
        place = np.arange(line.size) - np.repeat(np.cumsum(per_line) - per_line, per_line)
        out = np.full((2, edge.shape[0], max(1, int(per_line.max(initial=0)))), key, dtype=np.int64)
        out[0, line, place], out[1, line, place] = start, stop
        first, last = (one.reshape(*lead, one.shape[-1]).swapaxes(-1, -2) for one in out)
        return cls(np.ascontiguousarray(first), np.ascontiguousarray(last), key)


def single(start: Int64[np.ndarray, "*batch rows"], stop: Int64[np.ndarray, "*batch rows"], key: int) -> Ranges:
    """Return the sets that have one run a row; a run whose stop is not past its start is empty."""
    empty = start >= stop
    if empty.any():
        start, stop = np.where(empty, key, start), np.where(empty, key, stop)
    return Ranges(start[..., None, :], stop[..., None, :], key)


def complement(ranges: Ranges, rows: Rows) -> Ranges:
    """Return what is left of each row's stretch without `ranges`, which lies in that stretch."""
    low, high = rows.low[..., None, :], rows.high[..., None, :]
    start, stop = np.minimum(ranges.start, high), np.minimum(ranges.stop, high)
    lead = np.broadcast_shapes(start.shape[:-2], low.shape[:-2])
    low, stop, start, high = (np.broadcast_to(one, (*lead, *one.shape[-2:])) for one in (low, stop, start, high))
    return _tidy(np.concatenate([low, stop], -2), np.concatenate([start, high], -2), ranges.key)


def union(parts: Sequence[Ranges]) -> Ranges:
    """Return the keys that any part holds, row by row."""
    lead = np.broadcast_shapes(*(part.start.shape[:-2] for part in parts))
    start, stop = (
        np.concatenate([np.broadcast_to(one, (*lead, *one.shape[-2:])) for one in ones], -2)
        for ones in zip(*((part.start, part.stop) for part in parts), strict=True)
    )
    return join(start, stop, parts[0].key)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Return the keys that both hold, row by row."""
    if other.runs == 1 or one.runs == 1:
        return _tidy(np.maximum(one.start, other.start), np.minimum(one.stop, other.stop), one.key)
    everywhere = Rows.of(np.zeros(one.rows, np.int64), one.key)
    return complement(union([complement(one, everywhere), complement(other, everywhere)]), everywhere)


def join(
    start: Int64[np.ndarray, "*batch runs rows"], stop: Int64[np.ndarray, "*batch runs rows"], key: int, gap: int = 0
) -> Ranges:
    """Return runs in normal form from runs in any order that may overlap; those at most `gap` keys apart become one.

    Empty runs must have start == stop == key.
    """
    if start.shape[-2] == 1:
        return Ranges(start, stop, key)
    # Starts and stops may be sorted apart: the i-th stop ends all that has begun exactly if the next start is past it.
    start, stop = np.sort(start, -2), np.sort(stop, -2)
    apart = start[..., 1:, :] > stop[..., :-1, :] + gap
    start[..., 1:, :][~apart] = key
    stop[..., :-1, :][~apart] = key
    start, stop = np.sort(start, -2), np.sort(stop, -2)
    return _trimmed(start, stop, key)


def _tidy(
    start: Int64[np.ndarray, "*batch runs rows"], stop: Int64[np.ndarray, "*batch runs rows"], key: int
) -> Ranges:
    """Return disjoint, ordered runs in normal form: empty ones last, and dropped where no row needs them."""
    empty = start >= stop
    if empty.any():
        start, stop = np.where(empty, key, start), np.where(empty, key, stop)
        if start.shape[-2] > 1:
            start, stop = np.sort(start, -2), np.sort(stop, -2)
    return _trimmed(start, stop, key)


def _trimmed(
    start: Int64[np.ndarray, "*batch runs rows"], stop: Int64[np.ndarray, "*batch runs rows"], key: int
) -> Ranges:
    runs = start.shape[-2]
    while runs > 1 and not (start[..., runs - 1, :] < key).any():
        runs -= 1
    return Ranges(start[..., :runs, :], stop[..., :runs, :], key)
