from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.checks.layers import Layer, filled, lab_of
from torch import nn
from torch.testing import assert_close

from edgewise.checks.meaning.declared import Declared
from edgewise.checks.meaning.expected import Expected, composed, declared_graph, expectation
from edgewise.checks.meaning.inferred import inferred
from edgewise.checks.reading.meant import meant_at
from edgewise.graphs import Graph, causal, chunks, full, prefix, window


def measured(graph: Graph, length: int = 8) -> np.ndarray:
    return graph.dense(length, length)


def test_a_window_that_does_not_count_itself_is_one_longer():
    graph = window(3) & (chunks(4) | ~window(2, ahead=1))
    assert declared_graph(Declared(graph=graph)) is graph
    found = declared_graph(Declared(graph=graph, window_counts_self=False))
    assert found == window(4) & (chunks(4) | ~window(3, ahead=1))
    assert declared_graph(Declared()) is None


def test_layers_pass_on_what_they_have_read():
    assert composed([measured(window(3), 12)] * 3)[0] == window(7)
    assert composed([measured(causal())] * 4)[0] == causal()
    assert composed([measured(window(2)), measured(full())])[0] == full()
    strict = measured(causal()) & ~np.eye(8, dtype=bool)
    assert not composed([strict])[1].diagonal().any()
    assert composed([strict, strict])[1].diagonal().all()


@pytest.mark.parametrize("graph", [causal(), full(), window(3), window(2, ahead=1), prefix(3), causal() & chunks(4)])
def test_edges_that_people_mean_are_inferred_as_they_are(graph):
    assert inferred(measured(graph), [])[0] == graph


@pytest.mark.parametrize(
    "cells",
    [
        ~measured(causal()),
        ~measured(causal()) | np.eye(8, dtype=bool),
        measured(causal()) & ~np.eye(8, dtype=bool),
        np.tril(np.ones((8, 8), dtype=bool), 1),
    ],
)
def test_edges_one_slip_from_causal_are_meant_to_be_causal(cells):
    assert inferred(cells, [])[0] == causal()


def test_a_causal_route_says_what_is_meant_where_the_plain_one_reads_the_future():
    assert inferred(measured(full()), [measured(causal(), 5)])[0] == causal()
    assert inferred(measured(window(3)), [measured(causal())])[0] == window(3)
    assert inferred(np.eye(8, dtype=bool), [])[0] == full()


def test_what_nobody_says_is_told_as_inferred():
    lab = lab_of(Layer(filled(-1e9)))
    found = lab.expected()
    assert str(found) == "causal() (inferred: every output depends on its own token and those before it)"
    assert found.causal
    call = lab.calls(lab.plain)[0]
    assert lab.expected(call).graph == causal()


def test_what_is_declared_is_expected_whatever_is_measured():
    lab = lab_of(Layer(filled(-1e9)), Declared(graph=window(3)))
    assert str(lab.expected()) == "window(3) (declared: as declared)"
    assert lab.expected(lab.calls(lab.plain)[0]).graph == window(3)


def test_a_declared_window_reaches_further_over_two_layers():
    lab = lab_of(nn.Sequential(Layer(filled(-1e9)), Layer(filled(-1e9))), Declared(graph=window(3)))
    found = lab.expected()
    assert found.graph == window(5)
    assert found.says == "as declared: window(3) in each of 2 layers"


def test_attention_that_is_causal_says_that_a_mean_over_all_is_not_meant():
    class Centred(Layer):
        def forward(self, x):
            return super().forward(x) - x.mean(1, keepdim=True)

    lab = lab_of(Centred(filled(-1e9)))
    assert lab.measured().graph == full()
    assert (lab.expected().graph, lab.expected().says) == (causal(), "every attention in it is causal")


def test_edges_without_a_name_are_told_so():
    found = Expected(None, torch.zeros(2, 2, dtype=torch.bool), "given", "the mask that it is handed")
    assert str(found) == "edges without a name (given: the mask that it is handed)"
    assert_close(expectation(causal(), 1, 3, "config", "").cells, torch.ones(1, 3, dtype=torch.bool))


@pytest.fixture
def models():
    pytest.importorskip("transformers")
    from edgewise.tracing.tiny import tiny

    return lambda name: lab_of(tiny(name).model)


@pytest.mark.parametrize(
    ("name", "graph", "source"),
    [
        ("gpt2", causal(), "config"),
        ("llama", causal(), "config"),
        ("bert", full(), "inferred"),
        ("t5", causal(), "config"),
    ],
)
def test_a_config_says_what_is_meant(models, name, graph, source):
    lab = models(name)
    assert (lab.expected().graph, lab.expected().source) == (graph, source)
    for call in lab.calls(lab.plain):
        found = lab.expected(call)
        assert_close(found.cells, call.cells)
        if name == "t5":
            assert found.graph == (causal() if "decoder" in call.site and call.kind == "self" else full())


@pytest.mark.parametrize("name", ["gemma2", "mistral", "gpt_neo"])
def test_a_window_in_a_config_is_expected_of_its_layers(models, name):
    lab = models(name)
    calls = lab.calls(lab.plain, lab.given(lab.plain, lab.lengths[-1]))
    found = {repr(lab.expected(call).graph) for call in calls}
    assert any(one.startswith("window") for one in found), found
    for call in calls:
        assert_close(lab.expected(call).cells, call.cells)


def test_a_decoder_made_of_an_encoder_is_expected_to_be_causal_at_every_site():
    pytest.importorskip("transformers")
    from edgewise.tracing.tiny import tiny

    lab = lab_of(tiny("roformer", task="causal").model)
    assert str(lab.expected()) == "causal() (config: config.is_decoder=True)"
    assert {lab.expected(call).graph for call in lab.calls(lab.plain)} == {causal()}


def test_a_token_whose_key_points_where_its_query_does_need_not_read_itself():
    pytest.importorskip("transformers")
    from edgewise.tracing.tiny import tiny

    lab = lab_of(tiny("reformer", task="causal").model)
    found = {call.site.split(".")[3]: lab.expected(call) for call in lab.calls(lab.plain)}
    own = {"local": True, "lsh": False}  # where queries and keys are one
    assert [one.exact for one in found.values()] == [own[kind] for kind in lab.subject.config.attn_layers]
    assert {one.graph for one in found.values()} == {causal()}


def test_padding_of_tokens_that_were_pooled_is_told_nowhere(models):
    lab = models("funnel")
    route = replace(lab.plain, mask="right", batch=2)
    given = lab.given(route)
    pooled = [call for call in lab.calls(route) if call.kind == "cross" and call.key.shape[2] < given.length]
    assert pooled
    assert {meant_at(lab, route, given, 1, call) for call in pooled} == {None}


def test_several_tokens_after_a_cache_are_no_cross_attention(models):
    lab = models("gpt_neox_japanese")
    calls = lab.calls(replace(lab.plain, cached=(3, 2, 3)))
    assert [(call.kind, call.first) for call in calls] == [("self", first) for first in (0, 0, 3, 3, 5, 5)]
    for call in calls:
        assert_close(lab.expected(call).cells, call.cells)


def test_a_picture_of_which_some_places_are_never_read_has_its_own_length():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 16, 8, stride=8)

        def forward(self, pixel_values):
            x = nn.functional.pad(self.conv(pixel_values).flatten(2).mT, (0, 0, 0, 12))
            x, keep = x[:, None], torch.arange(28).expand(28, 28) < 16
            return nn.functional.scaled_dot_product_attention(x, x, x, keep)[:, 0]

    found = lab_of(Patches()).expected()
    assert found.cells.shape == (28, 28)
    assert found.cells.sum() == 28 * 16


def test_parts_of_a_model_that_read_each_other_are_expected_to_be_as_they_are(models):
    lab = models("blt")
    across = [one for one in lab.calls(lab.plain) if one.kind == "cross"]
    assert across
    assert lab.expected(across[0]).says == "as measured"
    assert not lab.expected(across[0]).exact
