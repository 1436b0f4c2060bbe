"""The block mask of flex_attention, against torch's own and against the dense graph."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask, create_mask

from edgewise.attention.flex import block_mask
from edgewise.graphs import Graph, causal, chunks, documents, full, keys, prefix, window

KEY = 300


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n, ahead = draw(st.integers(1, KEY)), draw(st.integers(0, 200))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(st.sampled_from([(KEY,), (2, KEY)]))
    rules = [
        full(),
        causal(),
        window(n, ahead),
        prefix(n),
        chunks(n),
        documents(np.sort(random.integers(0, 3, shape))),
        documents(random.integers(0, 3, shape)),
        keys(random.random(shape) < 0.8),
        keys(np.broadcast_to(np.arange(KEY) >= 130, shape)),
    ]
    one, other = draw(st.sampled_from(rules)), draw(st.sampled_from(rules))
    return draw(st.sampled_from([one, ~one, one & other, one | other]))


@given(graphs(), st.sampled_from([1, 128, 256, 290, KEY, 400]))
@settings(max_examples=25)
def test_the_block_mask_is_the_graph(graph: Graph, query: int) -> None:
    mask = block_mask(graph, query, KEY)
    dense = create_mask(mask.mask_mod, graph.batch, None, query, KEY, device="cpu")
    torch.testing.assert_close(dense.squeeze(1), torch.from_numpy(graph.dense(query, KEY)).reshape(-1, query, KEY))
    wanted = create_block_mask(mask.mask_mod, graph.batch, None, query, KEY, device="cpu")
    assert mask.shape == wanted.shape
    torch.testing.assert_close(mask.to_dense(), wanted.to_dense())
    for name in ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks"):
        torch.testing.assert_close(getattr(mask, name), getattr(wanted, name))


def test_tiles_of_edges_alone_are_full_and_tiles_without_edges_are_skipped() -> None:
    mask = block_mask(causal(), 512, 512)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 1, 1]]]
    assert mask.full_kv_num_blocks is not None
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2, 3]]]


def test_a_long_block_mask_costs_its_tiles() -> None:
    mask = block_mask(window(1024), 65_536, 65_536)
    assert mask.kv_indices.shape == (1, 1, 512, 512)
    assert mask.sparsity() > 98


def test_a_graph_for_other_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match=r"keys\(\[1, 0\]\) is made for 2 keys"):
        block_mask(keys([1, 0]), 3, 3)
