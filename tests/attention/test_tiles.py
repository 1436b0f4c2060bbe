"""Tiles: together they are the graph, cell by cell, and equal looks share a mask."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgewise.attention.tiles import Masks, tiling
from edgewise.graphs import Graph, causal, chunks, documents, full, keys, prefix, window


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    random = np.random.default_rng(draw(st.integers(0, 99)))
    n = draw(st.integers(1, 40))
    shape = draw(st.sampled_from([(40,), (3, 40)]))
    rules = [
        full(),
        causal(),
        window(n),
        prefix(n),
        chunks(n),
        documents(random.integers(0, 3, shape)),
        keys(random.random(shape) < 0.5),
    ]
    one, other = draw(st.sampled_from(rules)), draw(st.sampled_from(rules))
    return draw(st.sampled_from([one, ~one, one & other, one | other]))


@given(graphs(), st.integers(1, 50), st.sampled_from([1, 4, 16, 64]))
def test_tiles_hold_the_graph_cell_by_cell(graph: Graph, query: int, rows: int) -> None:
    batch = graph.batch or 1
    found = torch.zeros(batch, query, 40, dtype=torch.bool)
    masks = Masks(torch.float32)
    for tile in tiling(graph, query, 40, rows).tiles:
        height = tile.rows.stop - tile.rows.start
        assert height <= rows
        cells = torch.zeros(height, tile.columns)
        for columns, mask in masks.of(tile.look) if tile.look else ():
            cells[:, columns] += (mask == 0).float()
        for sequence in range(batch) if tile.batch is None else [tile.batch]:
            for columns, where in tile.parts():
                assert not found[sequence, tile.rows, where].any()
                found[sequence, tile.rows, where] = cells[:, columns] == 0
        assert tile.look is None or tile.look.empty == bool((cells != 0).all(1).any())
    torch.testing.assert_close(found, torch.from_numpy(graph.dense(query, 40)).reshape(batch, query, 40))


def test_all_tiles_of_a_window_but_the_first_look_alike() -> None:
    looks = {tile.look for tile in tiling(window(64), 1024, 1024, 32).tiles[3:]}
    assert len(looks) == 1


def test_a_tile_of_edges_alone_has_no_mask() -> None:
    assert all(tile.look is None for tile in tiling(chunks(32), 128, 128, 32).tiles)


def test_only_the_columns_at_the_diagonal_are_masked_under_causal() -> None:
    (last,) = (tile for tile in tiling(causal(), 512, 512, 64).tiles if tile.rows.start == 448)
    assert last.look is not None
    ((columns, mask),) = Masks(torch.float32).of(last.look)
    assert (columns.start, columns.stop) == (449, 512)
    assert mask.shape == (64, 63)


def test_masks_of_irregular_graphs_are_not_all_held_at_once() -> None:
    masks = Masks(torch.float32)
    for tile in tiling(documents(np.arange(2000) // 97) & causal(), 2000, 2000, 16).tiles:
        if tile.look is not None:
            masks.of(tile.look)
    assert len(masks._made) <= 16
