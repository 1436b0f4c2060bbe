"""A graph as rectangles, for kernels: every edge lies in one, and few other cells do.

Rows are cut where they start anew (a document, a chunk, the end of padding) and then into pieces of `rows`. For each
piece the keys that any of its rows reads are one span, or several where the keys between them are not worth computing.
Nothing here depends on how the graph was built: only on its runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from edgewise.graphs.graph import Graph, whole_number
from edgewise.graphs.ranges import Ranges, join, union

__all__ = ["Block", "blocks"]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows [row_start, row_stop) by keys [key_start, key_stop), outside of which these rows have no edge.

    Args:
        row_start: first row.
        row_stop: one past the last row.
        key_start: first key.
        key_stop: one past the last key.
        full: every cell of the block is an edge, so that a kernel needs no mask.
        batch: the sequence that the block is for; None for all of them.
    """

    row_start: int
    row_stop: int
    key_start: int
    key_stop: int
    full: bool
    batch: int | None = None

    @property
    def rows(self) -> slice:
        """The rows, to index with and to give to `Graph.cells`."""
        return slice(self.row_start, self.row_stop)

    @property
    def keys(self) -> slice:
        """The keys, to index with and to give to `Graph.cells`."""
        return slice(self.key_start, self.key_stop)

    @property
    def size(self) -> int:
        """Cells in the block, edges or not."""
        return (self.row_stop - self.row_start) * (self.key_stop - self.key_start)


def blocks(graph: Graph, query: int, key: int, rows: int = 128) -> tuple[Block, ...]:
    """Return blocks that hold every edge, by sequence, then row, then key.

    Blocks share rows only where those rows read spans at least `rows` keys apart (the first keys and a window): they
    follow each other, and one softmax runs over them all. Rows that read nothing are in no block, unless cutting them
    out would leave pieces of fewer than rows // 4 rows. `Graph.cells(block.rows, block.keys, query, key)` is the mask
    of a block that is not full.

    For a graph that differs by sequence, the blocks are for all sequences together (`batch` None) as long as that costs
    at most a quarter more cells than blocks of their own: ragged padding is, packed documents are not.

    Args:
        graph: the edges.
        query: number of rows.
        key: number of columns.
        rows: rows in a block, at most; at least 1.

    Example:
        >>> from edgewise.graphs import chunks
        >>> blocks(chunks(2), 4, 4)
        (Block(row_start=0, row_stop=4, key_start=0, key_stop=4, full=False, batch=None),)
        >>> blocks(chunks(2), 4, 4, rows=2)[1]
        Block(row_start=2, row_stop=4, key_start=2, key_stop=4, full=True, batch=None)
    """
    whole_number(rows, "rows of a block", 1)
    ranges = graph.ranges(query, key)
    if not query or not key:
        return ()
    if ranges.batch is None:
        return _blocks([ranges], rows, None)
    sequences = [ranges.sequence(batch) for batch in range(ranges.batch)]
    shared = _blocks(sequences, rows, None)
    own = tuple(block for batch, one in enumerate(sequences) for block in _blocks([one], rows, batch))
    return shared if 4 * len(sequences) * _size(shared) <= 5 * _size(own) else own


def _size(found: Sequence[Block]) -> int:
    return sum(block.size for block in found)


def _blocks(sequences: Sequence[Ranges], rows: int, batch: int | None) -> tuple[Block, ...]:
    """Return the blocks that serve all these sequences."""
    ranges = sequences[0] if len(sequences) == 1 else union(sequences)
    low, high = ranges.hull()
    edges = _edges(low, high, rows)
    row = np.arange(ranges.rows)
    row_start = np.minimum.reduceat(np.where(low < high, row, ranges.rows), edges)
    row_stop = np.maximum.reduceat(np.where(low < high, row + 1, 0), edges)
    start = np.minimum.reduceat(ranges.start, edges, axis=-1)
    stop = np.maximum.reduceat(np.where(ranges.start < ranges.stop, ranges.stop, 0), edges, axis=-1)
    spans = join(start, np.where(start < ranges.key, stop, ranges.key), ranges.key, gap=rows - 1)
    piece = np.repeat(np.arange(edges.size), np.diff(np.append(edges, ranges.rows)))
    outside = (row < row_start[piece]) | (row >= row_stop[piece])
    columns: list[list[int]] = [row_start.tolist(), row_stop.tolist()]
    for start, stop in zip(spans.start, spans.stop, strict=True):
        covered = np.logical_and.reduce([_covered(one, start[piece], stop[piece]) for one in sequences])
        columns += [start.tolist(), stop.tolist(), np.logical_and.reduceat(covered | outside, edges).tolist()]
    return tuple(
        Block(first, last, *span, batch=batch)
        for first, last, *rest in zip(*columns, strict=True)
        for span in zip(rest[0::3], rest[1::3], rest[2::3], strict=True)
        if span[0] < span[1]
    )


def _covered(
    ranges: Ranges, start: Int64[np.ndarray, " rows"], stop: Int64[np.ndarray, " rows"]
) -> Bool[np.ndarray, " rows"]:
    """Return for which rows one run holds all of [start, stop)."""
    return np.logical_or.reduce((ranges.start <= start) & (stop <= ranges.stop), axis=-2)


def _edges(
    low: Int64[np.ndarray, " rows"], high: Int64[np.ndarray, " rows"], rows: int
) -> Int64[np.ndarray, " pieces"]:
    """Return the first row of each piece: cut where a row shares no key with the one before, then every `rows`."""
    seen = low < high
    anew = (low[1:] >= high[:-1]) | (high[1:] <= low[:-1]) | (seen[1:] != seen[:-1])
    cuts = _spaced(np.flatnonzero(anew & (seen[1:] | seen[:-1])) + 1, max(1, rows // 4))
    cuts = np.array([0, *cuts])
    lengths = np.diff(np.append(cuts, low.size))
    pieces = -(-lengths // rows)
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.repeat(cuts, pieces) + rows * within


def _spaced(cuts: Int64[np.ndarray, " cuts"], least: int) -> list[int]:
    """Return the cuts from left to right, leaving out those fewer than `least` rows after the last one kept."""
    if cuts.size < 2 or int(np.diff(cuts).min()) >= least:
        return cuts[cuts >= least].tolist()
    kept: list[int] = []
    place = int(np.searchsorted(cuts, least))
    while place < cuts.size:
        kept.append(int(cuts[place]))
        place = int(np.searchsorted(cuts, kept[-1] + least))
    return kept
