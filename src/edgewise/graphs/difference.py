"""Where two graphs differ, row by row, in words: "row 7 sees keys 4…7, declared 5…7"."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from edgewise.errors import ShapeError
from edgewise.graphs.graph import ROWS_AT_ONCE, Graph
from edgewise.graphs.ranges import Ranges, intersection
from edgewise.graphs.recognise import measured_ranges, recognise

__all__ = ["Difference", "RowDifference", "difference"]

# Rows that are told, and runs of one row.
ROWS, RUNS = 3, 4


@dataclass(frozen=True)
class RowDifference:
    """What one row reads and what it was declared to read, as (start, stop) runs; `sequence` None for all."""

    row: int
    sequence: int | None
    measured: tuple[tuple[int, int], ...]
    declared: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        where = f"row {self.row}" if self.sequence is None else f"sequence {self.sequence} row {self.row}"
        return f"{where} sees {_keys(self.measured)}, declared {_runs(self.declared)}"


@dataclass(frozen=True)
class Difference:
    """Where measured edges differ from declared ones; its text is one line for a report.

    Args:
        rows: the first rows that differ, three at most.
        count: rows that differ, over all sequences.
        extra: edges that were measured and not declared.
        missing: edges that were declared and not measured.
        measured: the graph that has the measured edges, where the rules have a word for it.
        declared: the graph that was meant.
    """

    rows: tuple[RowDifference, ...]
    count: int
    extra: int
    missing: int
    measured: Graph | None
    declared: Graph

    def __str__(self) -> str:
        named = "" if self.measured is None else f"measured {self.measured!r}, declared {self.declared!r}: "
        more = self.count - len(self.rows)
        rows = "; ".join([*map(str, self.rows), *([f"and {more} more row{'s' * (more > 1)}"] if more else [])])
        return f"{named}{rows} ({self.extra} edge{'s' * (self.extra != 1)} too many, {self.missing} missing)"


def difference(
    measured: Graph | Ranges | Bool[np.ndarray, "*batch query key"],
    declared: Graph,
    query: int | None = None,
    key: int | None = None,
) -> Difference | None:
    """Return where measured edges differ from a declared graph; None where they are equal.

    Args:
        measured: a graph, or the edges that a model was seen to have.
        declared: the graph that it should have.
        query: number of rows; needed for a graph, known from edges.
        key: number of columns; needed for a graph, known from edges.

    Raises:
        ShapeError: the lengths of the edges are others than the ones given, or a graph came without lengths.

    Example:
        >>> from edgewise.graphs import window
        >>> print(difference(window(4), window(3), 5, 5))
        measured window(4), declared window(3): row 3 sees keys 0…3, declared 1…3; row 4 sees keys 1…4, declared 2…4 \
(2 edges too many, 0 missing)
    """
    if isinstance(measured, Graph):
        if query is None or key is None:
            raise ShapeError("two graphs are compared at given lengths: difference(measured, declared, query, key)")
    else:
        measured = measured_ranges(measured)
        given, found = (query, key), (measured.rows, measured.key)
        if any(one not in (None, other) for one, other in zip(given, found, strict=True)):
            raise ShapeError(f"measured edges are (query, key)={found}; asked to compare at {given}")
        query, key = found
    rows: list[RowDifference] = []
    count = extra = missing = 0
    for first, one, other in _stretches(measured, declared, query, key):
        both = int(intersection(one, other).counts().sum())
        extra, missing = extra + int(one.counts().sum()) - both, missing + int(other.counts().sum()) - both
        places = np.argwhere(_differs(one, other))
        count += len(places)
        rows += [_row(one, other, first, *place) for place in places[: ROWS - len(rows)].tolist()]
    if not count:
        return None
    named = measured if isinstance(measured, Graph) else recognise(measured)
    return Difference(tuple(rows), count, extra, missing, named, declared)


def _stretches(measured: Graph | Ranges, declared: Graph, query: int, key: int) -> Iterator[tuple[int, Ranges, Ranges]]:
    """Yield stretches of rows of both, with their first row; where one has a batch, both have."""
    declared.check(query, key)
    batches = [one.batch for one in (measured, declared) if one.batch is not None]
    batch = max(batches, default=None)
    if any(one not in (1, batch) for one in batches):
        raise ShapeError(f"graphs with {batches[0]} and {batches[1]} sequences cannot be compared")
    step = max(1, ROWS_AT_ONCE // (batch or 1))
    for first in range(0, query, step):
        rows = slice(first, first + step)
        one = measured.part(rows) if isinstance(measured, Ranges) else measured.ranges(query, key, rows)
        other = declared.ranges(query, key, rows)
        yield (first, one, other) if batch is None else (first, one.spread(batch), other.spread(batch))


def _differs(one: Ranges, other: Ranges) -> Bool[np.ndarray, "*batch rows"]:
    runs = min(one.runs, other.runs)
    differs = (one.start[..., :runs, :] != other.start[..., :runs, :]).any(-2)
    differs |= (one.stop[..., :runs, :] != other.stop[..., :runs, :]).any(-2)
    for longer in (one, other):
        differs |= (longer.start[..., runs:, :] < longer.key).any(-2)
    return differs


def _row(one: Ranges, other: Ranges, first: int, *place: int) -> RowDifference:
    sequence, row = (None, *place) if len(place) == 1 else place
    runs = [tuple(ranges.row(row, sequence or 0)) for ranges in (one, other)]
    return RowDifference(first + row, sequence, *runs)


def _keys(runs: tuple[tuple[int, int], ...]) -> str:
    many = sum(stop - start for start, stop in runs)
    return f"key{'s' * (many > 1)} {_runs(runs)}" if many else "no key"


def _runs(runs: tuple[tuple[int, int], ...]) -> str:
    if not runs:
        return "none"
    texts = [f"{start}…{stop - 1}" if stop - start > 1 else f"{start}" for start, stop in runs]
    return ", ".join(texts if len(texts) <= RUNS else [*texts[: RUNS - 1], f"… ({len(texts)} runs)"])
