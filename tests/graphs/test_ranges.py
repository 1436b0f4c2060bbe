"""Millions of positions, in memory that grows with rows × runs and not with rows × keys."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from edgewise.graphs import Graph, causal, chunks, documents, keys, prefix, window

LONG = 2_000_000
MEBIBYTE = 1 << 20
KEPT = np.random.default_rng(0).random(LONG) < 0.9


@contextmanager
def at_most(mebibytes: int) -> Iterator[None]:
    """Fail if the block holds more memory than that at any moment."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] / MEBIBYTE
    finally:
        tracemalloc.stop()
    assert peak < mebibytes, f"{peak:.0f} MiB"


CASES: list[tuple[Callable[[], Graph], int]] = [
    (causal, LONG * (LONG + 1) // 2),
    (lambda: window(128), LONG * 128 - 128 * 127 // 2),
    (lambda: causal() & chunks(500), LONG // 500 * (500 * 501 // 2)),
    (lambda: documents(cumulative=np.arange(0, LONG + 1, 1000)), LONG * 1000),
    (lambda: ~(causal() & prefix(5)), LONG * (LONG - 1) // 2),
    (lambda: window(2) & ~window(1), LONG - 1),
    (lambda: window(1) & keys(KEPT), int(KEPT.sum())),
]


@pytest.mark.parametrize(("build", "edges"), CASES)
def test_two_million_positions_are_counted_in_little_memory(build: Callable[[], Graph], edges: int) -> None:
    graph = build()
    with at_most(120):
        assert graph.count(LONG, LONG) == edges


@pytest.mark.parametrize("build", [build for build, _ in CASES[:4]])
def test_ranges_and_blocks_of_two_million_positions_cost_a_few_numbers_a_row(build: Callable[[], Graph]) -> None:
    graph = build()
    with at_most(8 * 2 * 8 * LONG // MEBIBYTE):
        ranges = graph.ranges(LONG, LONG)
        assert len(graph.blocks(LONG, LONG)) >= LONG // 128
    assert ranges.runs == 1


def test_a_window_over_scattered_keys_costs_what_the_window_holds() -> None:
    with at_most(3 * 8 * 2 * 8 * LONG // MEBIBYTE):
        ranges = (keys(KEPT) & window(16)).ranges(LONG, LONG)
    assert ranges.runs <= 8


def test_two_million_positions_are_compared_and_drawn_in_little_memory() -> None:
    with at_most(120):
        assert window(128).equals(causal() & window(128), LONG, LONG)
        found = window(128).difference(window(127), LONG, LONG)
        assert window(128).draw(LONG, LONG).count("\n") == 40
    assert found is not None
    assert found.extra == LONG - 127


def test_runs_say_row_by_row_what_is_read() -> None:
    ranges = (window(2) | prefix(1)).ranges(4, 4)
    assert [ranges.row(row) for row in range(4)] == [[(0, 1)], [(0, 2)], [(0, 3)], [(0, 4)]]
    ranges = (causal() & (window(2) | keys([1, 0, 0, 0, 0]))).ranges(5, 5)
    assert ranges.row(4) == [(0, 1), (3, 5)]
    assert ranges.row(1) == [(0, 2)]
    first, last = ranges.hull()
    assert (first.tolist(), last.tolist()) == ([0] * 5, [1, 2, 3, 4, 5])
    assert (ranges.start[1, 1], ranges.stop[1, 1]) == (5, 5), "an empty run stands at the end of the line"
