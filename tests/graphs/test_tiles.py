"""Edges counted by tile (against the plain rule: test_generated_graphs.py)."""

import pytest

from edgewise.errors import ArgumentError
from edgewise.graphs import causal, keys, window


def test_tiles_that_are_cut_short_count_what_they_hold() -> None:
    assert causal().tiles(5, 5, 3, 3).tolist() == [[6, 0], [6, 3]]


def test_a_batch_has_tiles_of_its_own() -> None:
    assert keys([[1, 1, 0], [0, 0, 0]]).tiles(2, 3, 2, 2).tolist() == [[[4, 0]], [[0, 0]]]


def test_tiles_add_up_to_the_count_over_millions_of_positions() -> None:
    graph = window(100_000)
    assert graph.tiles(2_000_000, 2_000_000, 50_000, 25_000).sum() == graph.count(2_000_000, 2_000_000)


def test_a_tile_needs_rows_and_keys() -> None:
    with pytest.raises(ArgumentError, match="rows of a tile must be at least 1; got 0"):
        causal().tiles(4, 4, 0, 1)
    with pytest.raises(ArgumentError, match="keys of a tile must be at least 1; got 0"):
        causal().tiles(4, 4, 1, 0)
