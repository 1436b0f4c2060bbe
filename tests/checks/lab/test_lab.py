import math
import time
from dataclasses import replace

import pytest
from tests.checks.layers import CHANNELS, Layer, filled, lab_of
from tests.checks.public_targets import TARGETS
from torch import Tensor, nn
from torch.testing import assert_close

from edgewise.checks.calls.calling import Refused
from edgewise.checks.finding import Skip
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import BudgetSpent, Lab
from edgewise.checks.meaning.declared import Declared
from edgewise.graphs import causal, documents, full, keys, parse, window


def public(name: str, right: bool) -> Lab:
    case = TARGETS[name]
    graph = case.declared.get("graph")
    return lab_of(case.make(right), Declared(graph=None if graph is None else parse(graph)))


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_what_is_right_measures_as_expected_on_every_route(name):
    lab = public(name, right=True)
    for route in lab.where(packed=False):
        if route.mask not in ("left", "right"):
            found, wanted = lab.influence(route), lab.expected(route=route)
            assert_close(found.moved, wanted.cells, msg=f"{route}")
            assert found.disagree == (), route
    for call in lab.calls(lab.plain):
        assert_close(call.cells, lab.expected(call).cells)
        assert not call.problem


def test_a_mask_that_one_route_has_lost_shows_there_alone():
    lab = public("P01", right=False)
    assert {route.weights: lab.measured(route).graph for route in lab.where(dtype=None, contiguous=True)} == {
        False: causal(),
        True: full(),
    }
    assert lab.expected().graph == causal()


def test_a_triangle_at_the_wrong_corner_shows_in_decoding():
    lab = public("P02", right=False)
    single = next(one for one in lab.where(batch=2) if set(one.cached) == {1})
    assert lab.measured(lab.plain).graph == causal()
    assert lab.measured(single).graph == keys([True] + [False] * 7)
    assert lab.measured(single).says == "keys([1, 0, 0, 0, 0, 0, 0, 0])"


def test_a_window_of_one_more_is_measured_beside_what_was_declared():
    lab = public("P03", right=False)
    assert (lab.measured().graph, lab.expected().graph, lab.expected().source) == (window(4), window(3), "declared")
    assert [call.graph for call in lab.calls(lab.plain)] == [window(4)]


def test_padding_that_one_way_forgets():
    lab = public("P04", right=False)
    for route in lab.where(mask="right", batch=2, dtype=None):
        read = lab.influence(route, row=1).moved[: lab.length - 2, lab.length - 2 :]
        assert bool(read.any()) == (("fused", False) not in route.switches), route


def test_documents_keep_to_themselves_where_they_are_told_apart():
    for right, graph in ((True, causal() & documents(cumulative=[0, 3, 7, 8])), (False, causal())):
        lab = public("P06", right)
        assert lab.measured(lab.where(packed=True)[0]).graph == graph


def test_edges_the_wrong_way_round_are_meant_the_right_way_round():
    lab = public("P07", right=False)
    found = lab.expected()
    assert (found.graph, found.source) == (causal(), "inferred")
    assert "complement" in found.says
    assert "#" in lab.measured().says


def test_a_cache_that_counts_from_zero_gives_other_numbers_and_the_same_edges():
    for right in (True, False):
        lab = public("P12", right)
        cached = lab.where(batch=2, dtype=None, cached=(1,) * lab.length)[0]
        whole, stepwise = (lab.out(lab.given(route), route) for route in (lab.plain, cached))
        assert (lab.close(whole, stepwise, cached) is None) == right
        assert lab.measured(cached).graph == causal()


def test_measuring_twice_costs_once():
    lab = lab_of(Layer(filled(-math.inf)))
    first = lab.influence(lab.plain)
    passes = lab.passes
    assert lab.influence(lab.plain) is first
    assert lab.calls(lab.plain) == lab.calls(lab.plain)
    assert lab.passes <= passes + 1


def test_an_input_of_another_is_never_taken_for_it():
    lab = lab_of(Layer(filled(-math.inf)))
    for length in range(4, 30):
        given = lab.given(lab.plain).cut(length) if length < 8 else lab.given(lab.plain, length).rows([0, 1])
        assert lab.influence(lab.plain, 0, given).moved.shape == (length, length)


def test_a_route_that_is_refused_is_told_and_left_out():
    class Picky(Layer):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) == 1:
                raise ValueError("one is not enough")
            return super().forward(x)

    lab = lab_of(Picky())
    assert all(route.batch == 2 for route in lab.where())
    assert lab.refused[replace(lab.plain, batch=1)] == "it raises ValueError: one is not enough"
    with pytest.raises(Refused, match="one is not enough"):
        lab.influence(replace(lab.plain, batch=1))


def test_when_the_time_is_over_nothing_more_is_measured():
    subject = subject_of(Layer(), Declared())
    lab = Lab(subject, budget=0.0)
    time.sleep(0.001)
    with pytest.raises(BudgetSpent, match="the time that may be spent is over") as found:
        lab.influence(lab.plain)
    assert isinstance(found.value, Skip)


def test_progress_is_told():
    told: list[int] = []
    lab = Lab(subject_of(Layer(), Declared()), tell=told.append)
    lab._told -= 1
    lab.noise(lab.plain)
    assert told == [1]


def test_outputs_that_stand_for_no_tokens_have_no_influence(monkeypatch):
    lab = lab_of(Layer())
    out = lab.out(lab.given(lab.plain), lab.plain)
    monkeypatch.setattr(lab, "out", lambda given, route: out[:, :3])
    with pytest.raises(Skip, match="it gives 3 outputs for 8 tokens, so that no output stands for a token"):
        lab.influence(lab.plain)


def test_a_call_that_is_not_explained_is_a_problem_and_no_crash():
    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(CHANNELS, CHANNELS)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x)

    lab = lab_of(Late())
    assert lab.calls(lab.plain) == ()
    assert lab.unexplained(lab.plain) == {}
    assert lab.expected().source == "inferred"


def test_a_weak_mask_written_by_hand_is_unexplained_and_measured():
    lab = lab_of(Layer(filled(-10.0)))
    assert "Layer" in lab.unexplained(lab.plain) or lab.calls(lab.plain)
    assert lab.measured().graph == full()
