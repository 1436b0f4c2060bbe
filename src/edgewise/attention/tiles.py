"""A graph cut into tiles: runs of rows, the keys that those rows may read, and what to add where they may not.

The blocks route computes one tile after the other and nothing outside of them. Most tiles of a graph look alike (every
tile of a window does, every first tile of a document), so a mask is made once for each look, and only for the columns
where it is needed.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from edgewise.graphs import Block, Graph, Ranges

__all__ = ["Look", "Masks", "Tile", "Tiling", "tiling"]

# Looks whose masks are held at once: enough for regular graphs, and little memory for irregular ones.
_HELD = 16


class Look(NamedTuple):
    """Which cells of a tile are edges: the runs of its rows, counted from the tile's first column."""

    start: bytes
    stop: bytes
    rows: int
    columns: int
    empty: bool
    """Some row has no edge here at all."""


class Tile(NamedTuple):
    """Rows that are computed together, and all the keys that any of them may read."""

    rows: slice
    keys: tuple[slice, ...]
    """Where the keys lie; several slices are put side by side."""
    columns: int
    """Number of keys."""
    batch: int | None
    """The sequence that the tile is for; None for all."""
    look: Look | None
    """None where every cell is an edge."""

    def parts(self) -> Iterator[tuple[slice, slice]]:
        """Where each stretch of keys stands in the tile, and where it lies."""
        column = 0
        for keys in self.keys:
            after = column + keys.stop - keys.start
            yield slice(column, after), keys
            column = after


class Tiling(NamedTuple):
    """A graph in tiles."""

    tiles: tuple[Tile, ...]
    cells: int
    """Cells in all tiles together, edges or not."""


# A model asks for the same graph and lengths in every layer; the answer depends on nothing else.
@lru_cache(maxsize=16)
def tiling(graph: Graph, query: int, key: int, rows: int) -> Tiling:
    """The tiles of a graph, each of at most `rows` rows; rows without any key may be in none."""
    ranges = graph.ranges(query, key)
    found: list[Tile] = []
    for _, group in groupby(graph.blocks(query, key, rows), lambda block: (block.batch, block.row_start)):
        blocks = tuple(group)
        # Blocks shared by sequences that differ are cut apart: each sequence then has the masks that it needs.
        shared = ranges.batch is not None and blocks[0].batch is None
        for batch in range(ranges.batch or 1) if shared else [blocks[0].batch]:
            found.append(_tile(blocks, ranges, batch))
    return Tiling(tuple(found), sum((tile.rows.stop - tile.rows.start) * tile.columns for tile in found))


def _tile(blocks: tuple[Block, ...], ranges: Ranges, batch: int | None) -> Tile:
    rows, keys = blocks[0].rows, tuple(block.keys for block in blocks)
    columns = sum(part.stop - part.start for part in keys)
    if all(block.full for block in blocks):
        return Tile(rows, keys, columns, batch, None)
    at = (..., rows) if batch is None else (batch, ..., rows)
    starts: list[Int[np.ndarray, "runs rows"]] = []
    stops: list[Int[np.ndarray, "runs rows"]] = []
    column = 0
    for part in keys:
        # The runs in this part, moved to where the part stands in the tile.
        for ends, runs in ((starts, ranges.start), (stops, ranges.stop)):
            ends.append(runs[at].clip(part.start, part.stop) - part.start + column)
        column += part.stop - part.start
    start, stop = np.concatenate(starts), np.concatenate(stops)
    lengths = (stop - start).sum(0)
    if lengths.min() == columns:
        return Tile(rows, keys, columns, batch, None)
    used = (stop > start).any(1)
    start, stop = start[used].astype(np.int32), stop[used].astype(np.int32)
    look = Look(start.tobytes(), stop.tobytes(), start.shape[1], columns, not lengths.min())
    return Tile(rows, keys, columns, batch, look)


class Masks:
    """Which bits to keep of the weights of a tile, by its look: all for an edge and none elsewhere.

    Zeroing bits is a quarter of the work of adding −∞ to scores, and it takes infinities and NaN with it.

    Args:
        dtype: the dtype of the weights; the masks are integers of its size.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
        self._made: dict[Look, tuple[tuple[slice, Tensor], ...]] = {}

    def of(self, look: Look) -> tuple[tuple[slice, Tensor], ...]:
        """Columns, and which bits to keep there; outside of them every cell is an edge."""
        if look not in self._made:
            if len(self._made) >= _HELD:
                self._made.clear()
            self._made[look] = tuple((part, self._mask(look, part)) for part in _partial(look))
        return self._made[look]

    def _mask(self, look: Look, part: slice) -> Tensor:
        start, stop = _runs(look)
        column = np.arange(part.start, part.stop)
        edges = ((start[..., None] <= column) & (column < stop[..., None])).any(0)
        return -torch.from_numpy(edges).to(self._dtype)


def _partial(look: Look) -> tuple[slice, ...]:
    """The columns in which some cell is no edge: left and right of those that every row reads, or all of them."""
    start, stop = _runs(look)
    if len(start) > 1 or look.empty:
        return (slice(0, look.columns),)
    first, last = int(start.max()), int(stop.min())
    if first >= last:
        return (slice(0, look.columns),)
    if 3 * (first + look.columns - last) > look.columns:
        # One sum over neighbouring cells is faster than two over fewer.
        return (slice(0, look.columns),)
    sides = (slice(0, first), slice(last, look.columns))
    return tuple(side for side in sides if side.start < side.stop)


def _runs(look: Look) -> tuple[Int[np.ndarray, "runs rows"], Int[np.ndarray, "runs rows"]]:
    start, stop = np.frombuffer(look.start, np.int32), np.frombuffer(look.stop, np.int32)
    return start.reshape(-1, look.rows), stop.reshape(-1, look.rows)
