"""The graph behind measured edges: what mask a model applies, said in the words of the rules.

Each rule's numbers are read off the runs, as tight as the edges allow. If any rule of that kind fits, the tight one
does, so a handful of candidates are tried, simplest first, and each is compared in full: O(query × runs), and never a
wrong name. Where lengths leave several true names, the simplest is given: a window as long as the text is `causal()`.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from jaxtyping import Bool, Int64

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs.graph import Graph
from edgewise.graphs.listed import documents, keys
from edgewise.graphs.ranges import Ranges
from edgewise.graphs.rules import causal, chunks, full, prefix, window

__all__ = ["measured_ranges", "recognise"]

# Rows compared first, so that a wrong candidate costs little; each step is this many times the one before.
FIRST, GROWTH = 64, 16


def recognise(measured: Ranges | Bool[np.ndarray, "*batch query key"]) -> Graph | None:
    """Return the simplest graph with exactly these edges, or None where the rules have no word for them.

    Found are the rules, alone and joined by `&` (a window, prefix or causal graph within chunks or documents, over kept
    keys), and a causal window with the first keys always open. Documents in several pieces are found where no window
    cuts them. Positions are aligned at the end.

    Raises:
        ArgumentError: `measured` is neither runs nor booleans.
        ShapeError: it is not (query, key) or (batch, query, key).

    Example:
        >>> from edgewise.graphs import causal, documents, window
        >>> recognise(window(4).dense(9, 9))
        window(4)
        >>> recognise((causal() & documents([0, 0, 1, 1, 1])).ranges(5, 5))
        causal() & documents(cumulative=[0, 2, 5])
    """
    ranges = measured_ranges(measured)
    if not ranges.rows or not ranges.key:
        return full()
    if ranges.batch is not None and bool(
        (ranges.start == ranges.start[:1]).all() and (ranges.stop == ranges.stop[:1]).all()
    ):
        ranges = ranges.sequence(0)
    return next((graph for graph in _candidates(ranges) if _has(graph, ranges)), None)


def measured_ranges(measured: Ranges | Bool[np.ndarray, "*batch query key"]) -> Ranges:
    """Return edges as runs, whichever way they were measured."""
    if isinstance(measured, Ranges):
        return measured
    found = np.asarray(measured)
    if found.dtype != np.bool_:
        raise ArgumentError(
            f"measured edges must be Ranges or booleans, True where there is an edge; got {found.dtype}"
        )
    if found.ndim not in (2, 3):
        raise ShapeError(f"measured edges must be (query, key) or (batch, query, key); got shape {found.shape}")
    return Ranges.from_dense(found)


def _has(graph: Graph, ranges: Ranges) -> bool:
    first, step = 0, FIRST
    while first < ranges.rows:
        rows = slice(first, first + step)
        found, wanted = graph.ranges(ranges.rows, ranges.key, rows), ranges.part(rows)
        if not found.same(wanted):
            return False
        first, step = first + step, step * GROWTH
    return True


def _candidates(ranges: Ranges) -> Iterator[Graph]:
    rules = [full(), causal(), *_near(ranges)]
    yield from rules
    cuts = _cuts(ranges)
    groups = [*_chunked(cuts), documents(cuts.cumsum(-1))]
    yield from groups
    kept = keys(_seen(ranges))
    yield kept
    yield from _open_start(ranges)
    scattered = _scattered(ranges)
    groups += [] if scattered is None else [scattered]
    yield from groups[-1:]
    yield from (rule & group for rule, group in product(rules[1:], groups))
    yield from (rule & kept for rule in rules[1:])
    yield from (group & kept for group in groups)
    yield from (rule & group & kept for rule, group in product(rules[1:], groups))


def _positions(ranges: Ranges) -> Int64[np.ndarray, " rows"]:
    return np.arange(ranges.rows) + (ranges.key - ranges.rows)


def _near(ranges: Ranges) -> list[Graph]:
    """Return the tightest window and the tightest prefix around the edges."""
    (low, high), at = ranges.hull(), _positions(ranges)
    seen = low < high
    back = int(np.where(seen, at + 1 - low, 0).max())
    ahead = int(np.where(seen, high - 1 - at, 0).max())
    opened = int(np.where(seen & (high > at + 1), high, 0).max())
    found = [window(max(1, back), max(0, ahead))]
    return [*found, prefix(opened)] if opened else found


def _open_start(ranges: Ranges) -> list[Graph]:
    """Return the causal window with the first keys open that the last row shows."""
    runs = ranges.sequence(0).row(ranges.rows - 1)
    if len(runs) != 2 or runs[0][0] != 0 or runs[1][1] != ranges.key:
        return []
    first = keys(np.arange(ranges.key) < runs[0][1])
    return [causal() & (window(runs[1][1] - runs[1][0]) | first)]


def _cuts(ranges: Ranges) -> Bool[np.ndarray, "*batch key"]:
    """Return before which keys no edge passes, in either direction: the finest documents that the edges allow."""
    (low, high), at = ranges.hull(), _positions(ranges)
    used = (low < high) & (at >= 0)
    first, last = np.where(used, np.minimum(low, at), 0), np.where(used, np.maximum(high - 1, at), 0)
    passed = _depth(first + 1, last + 1, ranges.key + 1)[..., : ranges.key]
    passed[..., :1] = 1  # the text begins there, which is no cut
    return passed == 0


def _chunked(cuts: Bool[np.ndarray, "*batch key"]) -> list[Graph]:
    """Return the chunks that cuts at even distances speak of: by the longest stretch, or by where the last begins."""
    everywhere = np.logical_and.reduce(cuts.reshape(-1, cuts.shape[-1]), axis=0)
    at = np.append(np.append(0, np.flatnonzero(everywhere)), cuts.shape[-1])
    return [chunks(int(n)) for n in dict.fromkeys([np.diff(at).max(), at[-2]]) if n]


def _seen(ranges: Ranges) -> Bool[np.ndarray, "*batch key"]:
    """Return which keys are read by anyone."""
    lead = ranges.start.shape[:-2]
    start, stop = ranges.start.reshape(*lead, -1), ranges.stop.reshape(*lead, -1)
    return _depth(start, stop, ranges.key + 1)[..., : ranges.key] > 0


def _depth(
    start: Int64[np.ndarray, "*batch runs"], stop: Int64[np.ndarray, "*batch runs"], size: int
) -> Int64[np.ndarray, "*batch size"]:
    """Return how many of the runs each place lies in."""
    if start.ndim > 1:
        return np.stack([_depth(one, other, size) for one, other in zip(start, stop, strict=True)])
    change = np.bincount(start, minlength=size) - np.bincount(stop, minlength=size)
    return change.cumsum()


def _scattered(ranges: Ranges) -> Graph | None:
    """Return documents that need not be in one piece, each known by the first key that its rows read."""
    if ranges.batch is not None:
        found = [_first_keys(ranges.sequence(place)) for place in range(ranges.batch)]
        return (
            None
            if any(one is None for one in found)
            else documents(np.stack([one for one in found if one is not None]))
        )
    ids = _first_keys(ranges)
    return None if ids is None else documents(ids)


def _first_keys(ranges: Ranges) -> Int64[np.ndarray, " key"] | None:
    low, at = ranges.start[0], _positions(ranges)
    ids = np.arange(ranges.key)
    if ranges.rows < ranges.key:
        # Keys that have no row are told by who reads them: the last row of each document reads most.
        _, last = np.unique(low[::-1], return_index=True)
        start, stop = (one[:, ranges.rows - 1 - last].T.reshape(-1) for one in (ranges.start, ranges.stop))
        length = stop - start
        if length.sum() > ranges.key:
            return None  # rows with different first keys share keys: no documents
        within = np.arange(length.sum()) - np.repeat(length.cumsum() - length, length)
        ids[np.repeat(start, length) + within] = np.repeat(np.repeat(np.sort(np.unique(low)), ranges.runs), length)
    used = (at >= 0) & (low < ranges.key)
    ids[at[used]] = low[used]
    return ids
