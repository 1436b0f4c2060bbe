import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Argument, Caching, Subject
from edgewise.checks.lab.lengths import LONGEST, lengths_of, sizes_in
from edgewise.checks.lab.random_input import random_input
from edgewise.checks.lab.routes import plain_of, swept
from edgewise.checks.meaning.declared import Declared
from edgewise.graphs import causal, chunks, parse, prefix, window

KEEP = Argument("mask", "keep", "batch key", "bool")


def subject(**parts: object) -> Subject:
    return Subject(None, "target", "layer", **{"reads": "floats", "width": 16, **parts})


def test_everything_at_its_default_is_the_plain_route():
    assert plain_of(subject()) == Route()
    assert plain_of(subject(mask=KEEP)).mask == "none"
    assert plain_of(subject(mask=replace(KEEP, required=True))).mask == "ones"
    assert plain_of(subject(weights=Argument("weights", "yes or no"))).weights is False


def test_what_a_target_has_no_choice_about_is_not_swept():
    found = swept(subject(dtype=torch.bfloat16), 8)
    assert found == (Route(), Route(batch=1), Route(contiguous=False))


def test_weights_and_masks_are_swept_together():
    found = swept(subject(mask=KEEP, weights=Argument("weights", "yes or no")), 8)
    assert {(one.weights, one.mask) for one in found} == {
        (weights, mask) for weights in (False, True) for mask in ("none", "ones", "left", "right")
    }
    assert len(found) == len(set(found)) < 30
    assert found[0] == Route(weights=False)


def test_a_mask_by_lengths_is_never_padded_on_the_left():
    found = swept(subject(mask=replace(KEEP, form="lengths")), 8)
    assert {one.mask for one in found} == {"none", "ones", "right"}


def test_caches_are_swept_by_single_tokens_and_chunks_and_a_step_by_single_tokens():
    assert {one.cached for one in swept(subject(caching=Caching("cache")), 8)} == {
        *((), (3, 1, 1, 1, 1, 1), (1,) * 8, (3, 2, 3))
    }
    assert {one.cached for one in swept(subject(caching=Caching("cache", "step")), 8)} == {
        *((), (3, 1, 1, 1, 1, 1), (1,) * 8)
    }


def test_every_value_of_a_switch_but_the_default_is_swept_and_so_is_a_flag():
    flag = Argument("is_causal", "yes or no")
    found = swept(subject(switches=(("fused", (True, False)),), causal_flag=flag, mask=KEEP), 8)
    assert {one.switches for one in found} == {(), (("fused", False),), (("is_causal", True),)}
    assert Route(switches=(("fused", False),), mask="right") in found


def test_backends_are_swept_with_padding_and_with_a_cache_but_the_slow_one():
    found = swept(subject(backends=("eager", "flex_attention"), mask=KEEP, caching=Caching("cache")), 8)
    assert {(one.mask, bool(one.cached)) for one in found if one.backend == "eager"} == {
        *(("none", False), ("left", False), ("right", False), ("none", True))
    }
    assert {(one.mask, bool(one.cached)) for one in found if one.backend == "flex_attention"} == {
        *(("none", False), ("left", False))
    }


def test_packing_is_swept_where_documents_or_positions_are_taken():
    positions = Argument("pos", "each", "batch query")
    assert any(one.packed for one in swept(subject(positions=positions), 8))
    assert not any(one.packed for one in swept(subject(positions=positions, library="transformers"), 8))
    assert not any(one.packed for one in swept(subject(), 8))


def test_rows_are_padded_by_two_and_more_but_the_first():
    given = random_input(subject(mask=KEEP), Route(mask="left", batch=3), 6, 0)
    assert given.keep.int().tolist() == [[1] * 6, [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    given = random_input(subject(mask=KEEP), Route(mask="right", batch=1), 6, 0)
    assert given.keep.int().tolist() == [[1, 1, 1, 1, 0, 0]]


def test_ids_are_ordinary_and_padding_is_padding():
    reads = subject(reads="ids", vocabulary=50, pad=41, mask=KEEP)
    given = random_input(reads, Route(mask="right", batch=2), 200, 0)
    assert int(given.tokens[given.keep].min()) >= 25
    assert not bool((given.tokens[given.keep] == 41).any())
    assert given.tokens[~given.keep].tolist() == [41, 41]


def test_a_row_has_the_same_numbers_in_a_batch_of_any_size():
    function = subject(reads="qkv", width=None)
    for target in (subject(), subject(reads="ids", vocabulary=90), function):
        one, four = (random_input(target, Route(batch=batch), 6, 0) for batch in (1, 4))
        for name in ("tokens", "key", "value"):
            if getattr(one, name) is not None:
                assert_close(getattr(four, name)[:1], getattr(one, name))


def test_packed_rows_hold_three_documents_one_of_a_single_token():
    positions = Argument("pos", "each", "batch query")
    given = random_input(subject(positions=positions), Route(packed=True, batch=1), 8, 0)
    assert given.documents.tolist() == [[0, 0, 0, 1, 1, 1, 1, 2]]
    assert given.positions.tolist() == [[0, 1, 2, 0, 1, 2, 3, 0]]


def test_memory_is_longer_than_the_text_and_padded_at_its_end():
    memory = subject(memory=Argument("memory", "memory"), memory_mask=KEEP, mask=KEEP)
    given = random_input(memory, Route(mask="left", batch=2), 6, 0)
    assert given.memory.shape == (2, 9, 16)
    assert given.memory_keep.int().tolist() == [[1] * 9, [1] * 7 + [0] * 2]


def test_inputs_are_longer_than_every_window():
    assert lengths_of(subject(), Declared(), 8) == (8, 9)
    assert lengths_of(subject(), Declared(graph=window(3)), 8) == (8, 9)
    assert lengths_of(subject(), Declared(graph=window(12)), 8) == (15, 17, 27)
    assert lengths_of(subject(), Declared(graph=window(12), window_counts_self=False), 8) == (16, 17, 29)
    assert lengths_of(subject(longest=16), Declared(graph=window(12)), 8) == (15, 16)
    assert lengths_of(subject(), Declared(graph=window(1000)), 8) == (8, 9)
    assert max(lengths_of(subject(), Declared(graph=window(40)), 8)) == LONGEST


@pytest.mark.parametrize(
    ("graph", "sizes"),
    [(causal(), []), (parse("window(4, ahead=6) & ~chunks(3)"), [6, 3]), (prefix(2) | chunks(5), [2, 5])],
)
def test_the_sizes_of_a_graph_are_found(graph, sizes):
    assert list(sizes_in(graph)) == sizes
    assert list(sizes_in(chunks(3))) == [3]


def test_a_square_mask_is_handed_over_on_its_routes():
    from tests.checks.layers import Layer, lab_of

    class Told(Layer):
        def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Tensor:
            self.masked = lambda scores: scores if attn_mask is None else scores.masked_fill(~attn_mask, -math.inf)
            return super().forward(x)

    lab = lab_of(Told())
    assert lab.subject.square_mask is not None
    told = replace(lab.plain, switches=(("attn_mask", "causal"),))
    assert lab.given(lab.plain).allowed is None
    assert lab.measured(told).graph == causal()
    assert lab.expected(route=told).graph == causal()
    assert lab.expected(route=told).source == "given"
