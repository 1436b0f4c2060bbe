"""Some rows of a grid, computed a tile at a time, which stays in the processor's cache.

A tile is computed key by row (its memory runs along the rows), so that summing over the keys of a pixel is plain
addition of lines. Exponentials are taken relative to the largest score of the row in the tile; what that comes to is
settled by factors once the row's whole sum is known.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float32
from numpy.typing import NDArray

from edgewise.records.head import Head

if TYPE_CHECKING:
    from edgewise.records.grid import Grid

__all__ = ["Band", "halved"]

KEYS = 1024  # of a tile; with 256 rows a megabyte of float32. A pixel with more makes them more.

Numbers = NDArray[np.floating[Any]]


class Band:
    """Some rows of a grid, which one thread fills.

    Args:
        head: the head.
        stage: "weights", "scaled" or "raw".
        rows: the rows, whole pixels unless they are the last.
        found: the grid to be filled.
        known: whether the grid knows the sums of its rows.
    """

    def __init__(self, head: Head, stage: str, rows: range, found: "Grid", *, known: bool) -> None:
        self._head, self._rows, self._found = head, rows, found
        self._scores = head.raw if stage == "raw" else head.scaled
        self._weights, self._known = stage == "weights", known or stage != "weights"
        self._own = range(rows.start - found.rows.start, rows.stop - found.rows.start)
        shape = (found.largest.shape[0], len(rows))
        self._largest = np.full(shape, -np.inf, np.float32)
        self._total = np.zeros(shape, np.float32)
        self._edges = np.zeros(shape, np.int32)
        # What each tile's exponentials are relative to, and their sums; and to which columns they have gone.
        self._parts: list[tuple[slice, Numbers, Numbers]] = []
        self._seen = range(0)  # columns from the first to the last with an edge
        self._masks = _Masks(head, rows)
        self._room = np.empty(max(KEYS, found.step[1]) * len(rows), np.float32)

    def fill(self) -> None:
        """Fill the lines of the grid that these rows are."""
        (down, across), keys, end = self._found.step, self._found.keys, self._head.call.keys
        for tile in _cut(range(keys.start, min(keys.stop, end)), max(KEYS, across)):
            self._add(tile, across)
        if not self._known:
            for rest in (range(min(keys.start, end)), range(keys.stop, end)):
                for tile in _cut(rest, KEYS):
                    self._add(tile, 0)
            self._settle()
        if not self._seen:
            return
        columns = slice(self._seen.start, self._seen.stop)
        largest = self._largest[columns]
        if self._weights:
            largest -= self._sums
            np.exp(largest, out=largest)
        lines = slice(self._own.start // down, -(-self._own.stop // down))
        for cells, name, fill, add in (
            (self._largest, "largest", -np.inf, np.maximum),
            (self._total, "total", 0.0, np.add),
            (self._edges, "edges", 0.0, np.add),
        ):
            getattr(self._found, name)[columns, lines] = halved(filled(cells[columns], down, fill), down, add)

    @property
    def _sums(self) -> Float32[np.ndarray, " rows"]:
        return self._found.sums[self._own.start : self._own.stop].astype(np.float32)

    def _add(self, keys: range, across: int) -> None:
        """Add the cells of a tile to their pixels; to the sums of the rows alone where `across` is 0."""
        mask = self._masks.of(keys)
        if mask is False:
            return
        room = self._room[: len(keys) * len(self._rows)].reshape(len(keys), len(self._rows))
        scores = self._scores(self._rows, slice(keys.start, keys.stop), room).T
        step = across or len(keys)
        plain = None if self._weights else _split(scores if mask is True else np.where(mask, scores, 0), step, 0.0)
        if mask is not True:
            np.copyto(scores, -np.inf, where=~mask)
        split = _split(scores, step, -np.inf)
        largest = split.max(1)
        if plain is None:
            relative = self._sums if self._known else largest.max(0)
            split -= np.where(relative == -np.inf, 0, relative)
            np.exp(split, out=split)
        total = (split if plain is None else plain).sum(1)
        columns = slice(0, 0)
        if across:
            first = (keys.start - self._found.keys.start) // across
            columns = slice(first, first + len(total))
            self._seen = range(self._seen.start if self._seen else first, columns.stop)
            self._largest[columns], self._total[columns] = largest, total
            counted = np.ones((len(keys), 1), bool) if mask is True else mask
            self._edges[columns] = _split(counted, step, 0.0).sum(1, dtype=np.int32)
        if not self._known:
            self._parts.append((columns, largest.max(0), total.sum(0, dtype=np.float64)))

    def _settle(self) -> None:
        """Find the sums of the rows from those of the tiles, and make all exponentials relative to them."""
        sink = self._head.sink
        most = np.full(len(self._rows), -np.inf if sink is None else sink, np.float64)
        for _, largest, _ in self._parts:
            most = np.maximum(most, largest)
        seen = np.zeros(len(self._rows), bool)
        whole = np.zeros(len(self._rows)) if sink is None else np.exp(sink - most)
        for _, largest, total in self._parts:
            seen |= largest != -np.inf
            whole = whole + np.where(largest == -np.inf, 0, np.exp(largest - most) * total)
        sums = np.where(seen, most + np.log(whole), np.inf)
        self._found.sums[self._own.start : self._own.stop] = sums
        for columns, largest, _ in self._parts:
            self._total[columns] *= np.exp(largest - sums)


class _Masks:
    """Where the edges of some rows are, told for a tile without looking at its cells where none or all are."""

    def __init__(self, head: Head, rows: range) -> None:
        self._head, self._rows = head, rows
        call = head.call
        self._dense = None if call.allowed is None else head.edges(rows, slice(None))
        self._ranges = None
        if call.graph is not None:
            found = call.graph.ranges(call.rows, call.keys, slice(rows.start, rows.stop))
            self._ranges = found.sequence(min(head.batch, (found.batch or 1) - 1))

    def of(self, keys: range) -> Bool[np.ndarray, "keys rows"] | bool:
        """Return the edges of a tile; True or False where every cell is alike."""
        if self._dense is not None:
            mask = self._dense[:, keys.start : keys.stop]
            return bool(mask.any()) if mask.all() or not mask.any() else mask.T
        if self._ranges is None:
            return True
        start, stop = self._ranges.start, self._ranges.stop
        if not ((start < keys.stop) & (stop > keys.start)).any():
            return False
        if ((start <= keys.start) & (stop >= keys.stop)).any(0).all():
            return True
        edges = self._head.edges(self._rows, slice(keys.start, keys.stop))
        assert edges is not None
        return edges.T


def _cut(keys: range, size: int) -> Iterator[range]:
    for first in range(keys.start, keys.stop, size):
        yield range(first, min(first + size, keys.stop))


def filled(cells: NDArray[Any], step: int, fill: float) -> NDArray[Any]:
    """Return (columns, rows) with rows added until they are whole steps."""
    missing = -cells.shape[1] % step
    return np.pad(cells, ((0, 0), (0, missing)), constant_values=fill) if missing else cells


def halved(cells: NDArray[Any], step: int, add: np.ufunc) -> NDArray[Any]:
    """Return (columns, rows / step), with every `step` rows, a power of 2, made one.

    Ten times as fast as a reduction along so short an axis.
    """
    while step > 1:
        cells = add(cells[:, ::2], cells[:, 1::2])
        step //= 2
    return cells


def _split(cells: NDArray[Any], step: int, fill: float) -> NDArray[Any]:
    """Return (columns, step, rows) from (keys, rows), the last column filled up."""
    missing = -len(cells) % step
    if missing:
        cells = np.concatenate([cells, np.full((missing, cells.shape[1]), fill, cells.dtype)])
    return cells.reshape(-1, step, cells.shape[1])
