"""The rules that read a list, an entry a key: documents (which positions are one text) and keys (padding)."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int64

from edgewise.graphs.given import document_ids, kept_keys
from edgewise.graphs.graph import Graph, Pairs
from edgewise.graphs.ranges import Ranges, Rows
from edgewise.graphs.shorthand import shorthand

__all__ = ["Documents", "Keys", "documents", "keys"]


@dataclass(frozen=True, eq=False, repr=False)
class _Listed(Graph):
    """A rule that indexes one array, (key,) or (batch, key).

    Its runs lie on *lines*, a line for each document or for each sequence's kept keys. Line l is the stretch of numbers
    from l × (length + 1), so that the runs of all lines are one sorted array and those of a row are found by bisection.
    """

    values: np.ndarray

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    @property
    def batch(self) -> int | None:
        """Sequences in the list, where it is 2-D."""
        return self.values.shape[0] if self.values.ndim == 2 else None

    @property
    def length(self) -> int | None:
        """Keys in the list."""
        return self.values.shape[-1]

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the list."""
        return (self.values,)

    def identity(self) -> tuple[Any, ...]:
        """Return what tells the list from any other, without holding it twice."""
        return (self.values.shape, self._digest)

    def _entry(self, entries: Any, batch: Any, at: Any) -> Any:
        """Return what the list, or its stand-in, holds at some positions; a batch of one stands for any."""
        if self.batch is None:
            return entries[at]
        return entries[0][at] if self.batch == 1 else entries[batch, at]

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.blake2b(np.ascontiguousarray(self.values).data, digest_size=16).digest()

    @cached_property
    def _runs(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        """Start and stop of each run of equal neighbours, counted through one sequence after the other."""
        new = np.ones(self.values.shape, dtype=bool)
        new[..., 1:] = self.values[..., 1:] != self.values[..., :-1]
        start = np.flatnonzero(new)
        return start, np.append(start[1:], new.size)

    @cached_property
    def _lines(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        """Start and stop of each run on its line, sorted."""
        raise NotImplementedError

    def _search(self, line: Int64[np.ndarray, "*batch rows"], rows: Rows) -> Ranges:
        """Return the runs of each row's line in its stretch."""
        starts, stops = self._lines
        base, key = line * (rows.key + 1), rows.key
        low, high = np.broadcast_arrays(rows.low, rows.high)
        first = np.searchsorted(stops, base + low, "right")
        last = np.where(low < high, np.searchsorted(starts, base + high, "left"), 0)
        index = first[..., None, :] + np.arange(max(1, int((last - first).max(initial=1))))[:, None]
        valid = index < last[..., None, :]
        index = np.where(valid, index, 0)
        base, low, high = base[..., None, :], low[..., None, :], high[..., None, :]
        start = np.where(valid, np.maximum(starts[index] - base, low), key)
        return Ranges(start, np.where(valid, np.minimum(stops[index] - base, high), key), key)


class Documents(_Listed):
    """Positions of one document read each other.

    Ids are renumbered by first use, so that texts cut alike are equal graphs.
    """

    @cached_property
    def _lines(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        start, stop = self._runs
        length = self.values.shape[-1]
        sequence = start // length
        line = sequence * self._most + self.values.reshape(-1)[start]
        shift = line * (length + 1) - sequence * length
        start, stop = start + shift, stop + shift
        order = np.argsort(start, kind="stable")
        return start[order], stop[order]

    @cached_property
    def _most(self) -> int:
        """Documents in the sequence that has most."""
        return int(self.values.max()) + 1

    def judge(self, pairs: Pairs) -> Any:
        """Return where both positions have one id."""
        ids = next(pairs.arrays)
        # A row before the first key is in no document: it looks up the first id, and the answer is dropped.
        inside = pairs.query >= 0
        query = pairs.query * inside
        return (self._entry(ids, pairs.batch, query) == self._entry(ids, pairs.batch, pairs.key)) & inside

    def find(self, rows: Rows) -> Ranges:
        """Return the runs of each row's document."""
        line = self.values[..., np.maximum(rows.positions, 0)].astype(np.int64)
        if self.batch is not None:
            line += np.arange(self.batch)[:, None] * self._most
        return self._search(line, Rows(rows.positions, rows.key, rows.low, np.where(rows.positions < 0, 0, rows.high)))

    def __repr__(self) -> str:
        if self.batch is None and bool((self.values[1:] >= self.values[:-1]).all()):
            start, stop = self._runs
            return f"documents(cumulative={shorthand(np.append(start, stop[-1]), repeats=False)})"
        return f"documents({shorthand(self.values)})"


class Keys(_Listed):
    """Kept keys are read by everyone, the others by no one."""

    @cached_property
    def _lines(self) -> tuple[Int64[np.ndarray, " runs"], Int64[np.ndarray, " runs"]]:
        start, stop = self._runs
        kept = self.values.reshape(-1)[start]
        # A key that no row can reach stands for the list that keeps nothing: bisection wants one run at least.
        start, stop = (start[kept], stop[kept]) if kept.any() else (self._beyond, self._beyond)
        sequence = start // self.values.shape[-1]
        return start + sequence, stop + sequence

    @property
    def _beyond(self) -> Int64[np.ndarray, " one"]:
        return np.array([2 * self.values.size], dtype=np.int64)

    def judge(self, pairs: Pairs) -> Any:
        """Return where the key is kept."""
        kept = self._entry(next(pairs.arrays), pairs.batch, pairs.key)
        return kept & ((pairs.query >= 0) | (pairs.query < 0))  # the same for every row, in the shape of both

    def find(self, rows: Rows) -> Ranges:
        """Return the kept runs."""
        line = np.zeros(rows.positions.size, np.int64)
        return self._search(line if self.batch is None else line + np.arange(self.batch)[:, None], rows)

    def __repr__(self) -> str:
        return f"keys({shorthand(self.values.astype(np.int8))})"


def documents(ids: Any = None, *, cumulative: Any = None) -> Graph:
    """Return the graph on which positions of one document read each other, both ways.

    Args:
        ids: a whole number for each key, (key,) or (batch, key), as a list, an array or a tensor. Equal numbers are one
            document, wherever they stand; no number is special.
        cumulative: instead of ids, where documents begin and, last, where the text ends: [0, 3, 7] is a document of 3
            positions and one of 4.

    Raises:
        ArgumentError: not exactly one of both is given, it does not hold whole numbers, or `cumulative` does not rise
            from 0.
        ShapeError: `ids` is neither 1-D nor 2-D, `cumulative` is not 1-D, or there is no position.

    Example:
        >>> from edgewise.graphs import causal
        >>> print((causal() & documents(cumulative=[0, 1, 3])).draw(3, 3))
        ■ · ·
        · ■ ·
        · ■ ■
    """
    return Documents(document_ids(ids, cumulative))


def keys(keep: Any) -> Graph:
    """Return the graph on which everyone reads the kept keys and no other.

    Args:
        keep: True or 1 for a key that may be read, False or 0 for padding; (key,) or (batch, key), as a list, an array
            or a tensor.

    Raises:
        ArgumentError: `keep` holds something else.
        ShapeError: `keep` is neither 1-D nor 2-D, or there is no key.

    Example:
        >>> from edgewise.graphs import causal
        >>> print((causal() & keys([0, 1, 1])).draw(3, 3))
        · · ·
        · ■ ·
        · ■ ■
    """
    return Keys(kept_keys(keep))
