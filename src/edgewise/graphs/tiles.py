"""How many edges lie in each tile of a grid: what a picture shades, and what tells a kernel which tiles to skip."""

import numpy as np
from jaxtyping import Int64

from edgewise.graphs.graph import Graph, whole_number
from edgewise.graphs.ranges import Ranges

__all__ = ["tiles"]


def tiles(graph: Graph, query: int, key: int, rows: int, keys: int) -> Int64[np.ndarray, "*batch lines columns"]:
    """Return the number of edges in each tile: O(query × runs + tiles).

    Args:
        graph: the edges.
        query: number of rows.
        key: number of columns.
        rows: rows in a tile; the last line of tiles may be cut short.
        keys: keys in a tile; the last column of tiles may be cut short.

    Example:
        >>> from edgewise.graphs import causal
        >>> tiles(causal(), 4, 4, 2, 2)
        array([[3, 0],
               [4, 3]])
    """
    whole_number(rows, "rows of a tile", 1)
    whole_number(keys, "keys of a tile", 1)
    counts = np.zeros((graph.batch or 1, -(-query // rows), -(-key // keys)), np.int64)
    for first, part in graph.parts(query, key):
        lines = slice(first // rows, (first + part.rows - 1) // rows + 1)
        for sequence, one in enumerate(counts):
            _add(one[lines], part.sequence(sequence), first % rows, rows, keys)
    return counts if graph.batch is not None else counts[0]


def _add(counts: Int64[np.ndarray, "lines columns"], part: Ranges, first: int, rows: int, keys: int) -> None:
    """Add the edges of some rows, the first of which is the `first` of its tile.

    The edges of a run before a border are those of a ramp that begins at the run's start, less those of one that begins
    at its stop. So starts and stops are summed by tile, once, and no run is walked along.
    """
    lines, columns = counts.shape
    borders = np.minimum(np.arange(columns + 1) * keys, part.key)
    line = np.broadcast_to((first + np.arange(part.rows)) // rows, part.start.shape).reshape(-1)
    before = np.zeros((lines, columns + 1))
    for sign, begin in ((1, part.start.reshape(-1)), (-1, part.stop.reshape(-1))):
        place = line * (columns + 1) + -(-begin // keys)
        many, total = (
            np.bincount(place, weights=weights, minlength=before.size).reshape(before.shape).cumsum(1)
            for weights in (None, begin.astype(np.float64))
        )
        before += sign * (many * borders - total)
    counts += np.diff(before, axis=1).astype(np.int64)
