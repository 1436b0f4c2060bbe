"""Rectangles for kernels: where they are cut, and what they spare."""

import numpy as np
import pytest

from edgewise.errors import ArgumentError
from edgewise.graphs import Block, Graph, causal, chunks, documents, full, keys, prefix, window


def _cells(graph: Graph, length: int, rows: int = 128) -> int:
    """Cells that a kernel computes, over all sequences."""
    blocks = graph.blocks(length, length, rows)
    return sum(block.size * (1 if block.batch is not None else graph.batch or 1) for block in blocks)


def test_chunks_and_documents_are_computed_without_a_forbidden_cell() -> None:
    for graph in (chunks(64), documents(cumulative=[0, 40, 300, 1000, 1024])):
        assert _cells(graph, 1024) == graph.count(1024, 1024)
        assert all(block.full for block in graph.blocks(1024, 1024))


def test_a_window_costs_its_width_and_a_block_more() -> None:
    assert _cells(window(256), 4096) <= 4096 * (256 + 127)


def test_causal_costs_half_and_the_diagonal() -> None:
    assert _cells(causal(), 4096) == causal().count(4096, 4096) + 32 * (128 * 127 // 2)


def test_documents_in_a_causal_graph_do_not_reach_across_their_border() -> None:
    graph = causal() & documents(cumulative=[0, 300, 1000])
    assert [(block.row_start, block.key_start) for block in graph.blocks(1000, 1000, 256)] == [
        (0, 0),
        (256, 0),
        (300, 300),
        (556, 300),
        (812, 300),
    ]


def test_cuts_leave_no_splinters() -> None:
    assert len(window(1).blocks(1024, 1024)) == 1024 // 32
    assert len(documents(np.arange(1024) // 3).blocks(1024, 1024)) <= 32


def test_rows_that_read_nothing_are_in_no_block() -> None:
    graph = causal() & keys([0] * 100 + [1] * 200)
    assert graph.blocks(300, 300, 128)[0] == Block(100, 228, 100, 228, False)
    assert causal().blocks(300, 200, 128)[0] == Block(100, 228, 0, 128, False)
    assert (causal() & ~causal()).blocks(64, 64) == ()
    assert full().blocks(0, 4) == full().blocks(4, 0) == ()


def test_far_spans_of_the_same_rows_are_blocks_side_by_side_and_near_ones_are_one() -> None:
    first = keys(np.arange(1024) < 4)
    blocks = (causal() & (window(64) | first)).blocks(1024, 1024, 128)
    assert blocks[-2:] == (Block(896, 1024, 0, 4, True), Block(896, 1024, 833, 1024, False))
    assert blocks[0] == Block(0, 128, 0, 128, False)
    assert (window(64) | first).blocks(256, 1024, 128)[0] == Block(0, 128, 0, 4, True)


def test_a_padded_batch_shares_blocks_and_a_packed_one_does_not() -> None:
    padded = causal() & keys(np.arange(512) >= np.array([[0], [7], [30]]))
    assert {block.batch for block in padded.blocks(512, 512)} == {None}
    packed = documents(np.arange(512) // np.array([[64], [100]]))
    assert {block.batch for block in packed.blocks(512, 512)} == {0, 1}
    assert _cells(packed, 512) == packed.count(512, 512)


def test_a_full_block_is_full_for_every_sequence() -> None:
    graph = keys([[1] * 8, [1] * 8, [1] * 7 + [0]])
    assert graph.blocks(8, 8) == (Block(0, 8, 0, 8, False),)
    assert keys([[1] * 8] * 2).blocks(8, 8) == (Block(0, 8, 0, 8, True),)


def test_one_new_row_has_one_block() -> None:
    assert (causal() & window(16)).blocks(1, 1000) == (Block(0, 1, 984, 1000, True),)
    assert prefix(3).blocks(1, 10) == (Block(0, 1, 0, 10, True),)


def test_a_block_needs_a_row() -> None:
    with pytest.raises(ArgumentError, match="rows of a block must be at least 1; got 0"):
        causal().blocks(4, 4, rows=0)
