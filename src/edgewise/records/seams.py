"""Edges and biases of calls that follow each other, joined row by row into those of one call."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from edgewise.errors import ArgumentError
from edgewise.graphs import Graph, Ranges, causal, full, recognise
from edgewise.records.arrays import Array
from edgewise.records.call import Call

__all__ = ["joined_bias", "joined_edges"]


def joined_edges(parts: Sequence[Call], shifts: Sequence[int], keys: int) -> dict[str, Any]:
    """Return `graph` or `allowed` of the call that the parts make.

    Args:
        parts: the calls.
        shifts: at which key of the whole the first key of each part stands.
        keys: keys of the whole.
    """
    if any(part.allowed is not None for part in parts):
        dense = _joined([_dense(part) for part in parts], shifts, keys, parts)
        # Edges that are alike for all heads may have a name after all.
        named = recognise(dense[:, 0]) if dense.shape[1] == 1 and _whole(parts) else None
        return {"graph": named} if named is not None else {"allowed": Array.of(dense)}
    ranges = _ranges(parts, shifts, keys)
    graph = _likely(parts, ranges) or recognise(ranges)
    if graph is not None:
        return {"graph": graph}
    lines = np.concatenate([np.asarray(_held(part)) + begin for part, begin in zip(parts, _begins(parts), strict=True)])
    dense = ranges.dense()[..., lines, :]
    return {"allowed": Array.of(dense.reshape(-1, 1, *dense.shape[-2:]))}


def joined_bias(parts: Sequence[Call], shifts: Sequence[int], keys: int) -> Array | None:
    """Return the bias of the call that the parts make; 0 where a part has none, and for keys that it has not."""
    given = [part.bias for part in parts if part.bias is not None]
    if not given:
        return None
    dtype = given[0].dtype
    if any(bias.dtype != dtype for bias in given):
        raise ArgumentError(f"the biases of {parts[0].site.name} have several dtypes, so they are not rows of one call")
    zero = np.zeros((1, 1, 1, 1), given[0].bits.dtype)
    whole = _joined([zero if part.bias is None else part.bias.bits for part in parts], shifts, keys, parts)
    return Array.of(whole, dtype)


def _joined(arrays: Sequence[NDArray[Any]], shifts: Sequence[int], keys: int, parts: Sequence[Call]) -> NDArray[Any]:
    """Return arrays that broadcast to the scores of their parts as one, zero or False beyond the keys of each."""
    lead = np.broadcast_shapes(*(array.shape[:2] for array in arrays))
    rows = [part.query.shape[2] for part in parts]
    whole, begin = np.zeros((*lead, sum(rows), keys), arrays[0].dtype), 0
    for array, shift, many, part in zip(arrays, shifts, rows, parts, strict=True):
        seen = min(part.keys, keys - shift)
        if part.keys > seen and array.shape[3] > 1 and array.dtype == np.bool_ and bool(array[..., seen:].any()):
            raise _past(part)
        whole[:, :, begin : begin + many, shift : shift + seen] = array[..., :seen]
        begin += many
    return whole


def _dense(part: Call) -> Bool[np.ndarray, "batch heads rows key"]:
    """Return the edges of the rows that are kept, with axes of size 1 where they are alike."""
    if part.allowed is not None:
        return part.allowed.bits
    graph = part.graph or full()
    dense = graph.dense(part.rows, part.keys)
    return dense.reshape(-1, 1, part.rows, part.keys)[:, :, list(_held(part))]


def _ranges(parts: Sequence[Call], shifts: Sequence[int], keys: int) -> Ranges:
    found = [(part.graph or full()).ranges(part.rows, part.keys) for part in parts]
    lead = np.broadcast_shapes(*(one.start.shape[:-2] for one in found))
    shape = (*lead, max(one.runs for one in found), sum(part.rows for part in parts))
    whole, begin = np.full((2, *shape), keys, np.int64), 0
    for one, shift, part in zip(found, shifts, parts, strict=True):
        empty = one.start >= one.stop
        if bool((np.where(empty, 0, one.stop + shift) > keys).any()):
            raise _past(part)
        place = (..., slice(one.runs), slice(begin, begin + part.rows))
        for line, ends in zip(whole, (one.start, one.stop), strict=True):
            line[place] = np.where(empty, keys, ends + shift)
        begin += part.rows
    return Ranges(whole[0], whole[1], keys)


def _likely(parts: Sequence[Call], ranges: Ranges) -> Graph | None:
    """Return the graph that the parts themselves name, where it is also that of the whole: mostly the causal one."""
    for graph in dict.fromkeys([causal(), *(part.graph or full() for part in parts[:1])]):
        fits = graph.length in (None, ranges.key)
        if fits and graph.batch == ranges.batch and graph.ranges(ranges.rows, ranges.key).same(ranges):
            return graph
    return None


def _past(part: Call) -> ArgumentError:
    return ArgumentError(
        f"call {part.index} of {part.site.name} reads keys past its own position {part.position + part.rows - 1}: "
        "places of the cache that were still empty, so that its rows are not those of one text"
    )


def _held(part: Call) -> Sequence[int]:
    return range(part.rows) if part.kept.rows is None else part.kept.rows


def _begins(parts: Sequence[Call]) -> list[int]:
    return [sum(part.rows for part in parts[:place]) for place in range(len(parts))]


def _whole(parts: Sequence[Call]) -> bool:
    return all(part.kept.rows is None for part in parts)
