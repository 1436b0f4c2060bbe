"""The cells of a call in the order in which they are summed up: strips of rows, each cut along the keys into chunks.

A chunk's scores stay in the processor's cache. Nothing is in a strip that the graph forbids all along.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from edgewise.attention import Look, tiling
from edgewise.graphs import Graph, Ranges

__all__ = ["KEYS", "Chunk", "Strip", "dense_strips", "strips"]

KEYS = 2048  # of a chunk, at most


class Chunk(NamedTuple):
    """Some keys of a strip."""

    keys: slice
    behind: bool
    """Whether some row may read a key here that stands behind it."""
    look: Look | None
    """Which cells are edges; None where all are, or where booleans say it."""


class Strip(NamedTuple):
    """Some rows and all that they may read."""

    rows: slice
    at: int
    """Where the first row stands."""
    batch: int | None
    """The sequence that the strip is for; None for all."""
    chunks: tuple[Chunk, ...]
    widest: int
    """Keys of the widest chunk."""


# Every layer of a model asks for the same graph at the same lengths.
@lru_cache(maxsize=16)
def strips(graph: Graph, query: int, key: int, rows: int) -> tuple[Strip, ...]:
    """Return the strips of a graph, of at most `rows` rows; rows without any key may be in none."""
    ranges = graph.ranges(query, key)
    found: list[Strip] = []
    for tile in tiling(graph, query, key, rows).tiles:
        own = ranges if tile.batch is None else ranges.sequence(tile.batch)
        at = tile.rows.start + key - query
        chunks = [_chunk(own, tile.rows, keys, at) for keys in _cut(tile.keys)]
        found.append(_strip(tile.rows, at, tile.batch, [chunk for chunk in chunks if chunk is not None]))
    return tuple(found)


def dense_strips(query: int, key: int, rows: int) -> tuple[Strip, ...]:
    """Return strips for edges that are booleans: all keys are in each."""
    chunks = [Chunk(keys, True, None) for keys in _cut([slice(0, key)])]
    return tuple(
        _strip(slice(first, min(first + rows, query)), first + key - query, None, chunks)
        for first in range(0, query, rows)
    )


def _strip(rows: slice, at: int, batch: int | None, chunks: Sequence[Chunk]) -> Strip:
    widest = max((chunk.keys.stop - chunk.keys.start for chunk in chunks), default=0)
    return Strip(rows, at, batch, tuple(chunks), widest)


def _cut(parts: Sequence[slice]) -> list[slice]:
    """Return stretches of keys as chunks, as equal as they can be in whole blocks of keys."""
    found: list[slice] = []
    for part in parts:
        size = part.stop - part.start
        chunks = -(-size // KEYS)
        step = min(KEYS, -(-size // max(1, chunks) // 64) * 64)
        found += [slice(at, min(at + step, part.stop)) for at in range(part.start, part.stop, step or 1)]
    return found


def _chunk(ranges: Ranges, rows: slice, keys: slice, at: int) -> Chunk | None:
    """Return the chunk with these rows and keys; None where it has no edge."""
    start, stop = (ends[:, rows].clip(keys.start, keys.stop) - keys.start for ends in (ranges.start, ranges.stop))
    lengths = (stop - start).sum(0)
    if not lengths.any():
        return None
    stands = np.arange(at, at + rows.stop - rows.start) - keys.start
    behind = bool(((stop > start) & (stop > stands + 1)).any())
    columns = keys.stop - keys.start
    if lengths.min() == columns:
        return Chunk(keys, behind, None)
    used = (stop > start).any(1)
    start, stop = start[used].astype(np.int32), stop[used].astype(np.int32)
    return Chunk(keys, behind, Look(start.tobytes(), stop.tobytes(), start.shape[1], columns, not lengths.min()))
