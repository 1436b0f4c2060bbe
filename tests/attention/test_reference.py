"""The definition: each stage against what it says, by hand where that is possible."""

import pytest
import torch

from edgewise.attention import attend, reference
from edgewise.errors import ArgumentError
from edgewise.graphs import causal, full, window


def test_the_stages_are_the_formula_line_by_line() -> None:
    query, key, value = (torch.randn(2, 3, 5, 4) for _ in range(3))
    bias = torch.randn(3, 5, 5)
    stages = reference(query, key, value, causal(), soft_cap=2.0, bias=bias)
    torch.testing.assert_close(stages.raw, query @ key.mT)
    torch.testing.assert_close(stages.scaled, 2.0 * torch.tanh(stages.raw / 2.0 / 2.0) + bias)
    triangle = torch.ones(5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(stages.allowed, triangle.expand(2, 3, 5, 5))
    torch.testing.assert_close(stages.masked, torch.where(triangle, stages.scaled, -torch.inf))
    torch.testing.assert_close(stages.weights, torch.softmax(stages.masked, -1))
    assert stages.dropped is stages.weights
    torch.testing.assert_close(stages.out, stages.weights @ value)


def test_a_masked_key_gets_no_weight() -> None:
    query, key = torch.randn(6, 4), torch.randn(6, 4)
    key[5] = 1e18
    stages = reference(query, key, key, causal())
    assert (stages.weights[:5, 5] == 0).all()
    assert stages.out[:5].abs().max() < 100


def test_all_scores_equal_is_the_average_of_what_may_be_seen() -> None:
    value = torch.tensor([[2.0, 7.0], [6.0, 4.0], [6.0, 5.0]])
    average = torch.tensor([[2.0, 7.0], [4.0, 5.5], [14 / 3, 16 / 3]])
    nothing = torch.zeros(3, 1)
    torch.testing.assert_close(reference(nothing, nothing, value, causal()).out, average)
    ones = torch.ones(3, 1)
    torch.testing.assert_close(reference(ones, ones, value, causal(), normalise="sum").out, average)


def test_dividing_by_the_sum_gives_negative_weights_and_blows_up_at_zero() -> None:
    one = torch.ones(1, 1)
    stages = reference(one, torch.tensor([[2.0], [-1.0], [3.0]]), torch.ones(3, 1), scale=1.0, normalise="sum")
    torch.testing.assert_close(stages.weights, torch.tensor([[0.5, -0.25, 0.75]]))
    assert (
        not reference(one, torch.tensor([[1.0], [-1.0], [0.0]]), torch.ones(3, 1), scale=1.0, normalise="sum")
        .weights.isfinite()
        .all()
    )


def test_a_query_without_a_key_has_no_weights_under_either_normaliser() -> None:
    x = torch.randn(4, 2, requires_grad=True)
    for normalise in ("softmax", "sum"):
        stages = reference(x, x[:2], x[:2], causal(), normalise=normalise)
        assert (stages.weights[:2] == 0).all()
        assert (stages.out[:2] == 0).all()
        (gradient,) = torch.autograd.grad(stages.out.sum(), x)
        assert gradient.isfinite().all()


@pytest.mark.parametrize(("along", "axis"), [("keys", -1), ("queries", -2), ("all", (-2, -1))])
def test_the_direction_says_what_sums_to_one(along: str, axis: int) -> None:
    x = torch.rand(2, 5, 3)
    for normalise in ("softmax", "sum"):
        sums = reference(x, x, x, normalise=normalise, along=along).weights.sum(axis)
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_a_column_that_nobody_reads_and_an_empty_matrix_give_zeros_in_every_direction() -> None:
    x = torch.randn(3, 2)
    nobody = torch.zeros(3, 3, dtype=torch.bool)
    for along in ("keys", "queries", "all"):
        for normalise in ("softmax", "sum"):
            assert (reference(x, x, x, nobody, normalise=normalise, along=along).weights == 0).all()


def test_a_query_head_reads_the_group_it_belongs_to() -> None:
    query, key, value = torch.randn(6, 5, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    out = reference(query, key, value).out
    for head in range(6):
        alone = reference(query[head], key[head // 3], value[head // 3]).out
        torch.testing.assert_close(out[head], alone)


def test_a_sink_is_a_key_whose_value_is_zero() -> None:
    query, key, value = (torch.randn(2, 5, 4) for _ in range(3))
    sinks = torch.tensor([0.5, -1.0])
    scores = torch.cat([query @ key.mT / 2, sinks[:, None, None].expand(2, 5, 1)], -1)
    wanted = torch.softmax(scores, -1)[..., :-1]
    stages = reference(query, key, value, sinks=sinks)
    torch.testing.assert_close(stages.weights, wanted)
    torch.testing.assert_close(stages.out, wanted @ value)


def test_half_precision_is_computed_in_float32_and_comes_back_as_it_came() -> None:
    x = torch.randn(4, 8).bfloat16()
    stages = reference(x, x, x)
    assert {stages.raw.dtype, stages.weights.dtype} == {torch.float32}
    assert stages.out.dtype == torch.bfloat16
    torch.testing.assert_close(stages.weights, reference(x.float(), x.float(), x.float()).weights)


def test_a_boolean_tensor_is_a_graph_and_true_means_may_attend() -> None:
    x = torch.randn(2, 4, 3)
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()
    torch.testing.assert_close(reference(x, x, x, triangle).out, reference(x, x, x, causal()).out)
    torch.testing.assert_close(attend(x, x, x, triangle), attend(x, x, x, causal()))


def test_graphs_are_aligned_at_the_end() -> None:
    x = torch.randn(7, 3)
    for graph in (causal(), window(2), full()):
        whole = reference(x, x, x, graph)
        torch.testing.assert_close(reference(x[4:], x, x, graph).weights, whole.weights[4:])


def test_dropout_is_seen_between_the_weights_and_the_output() -> None:
    x = torch.randn(50, 4)
    stages = reference(x, x, x, dropout=0.5, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(stages.weights.sum(-1), torch.ones(50))
    kept = stages.dropped != 0
    torch.testing.assert_close(stages.dropped[kept], 2 * stages.weights[kept])
    torch.testing.assert_close(stages.out, stages.dropped @ x)


def test_names_that_do_not_exist_are_named() -> None:
    x = torch.zeros(2, 2)
    with pytest.raises(ArgumentError, match=r'sinks need normalise="softmax" and along="keys"; got .sum. and .keys.'):
        reference(x, x, x, sinks=torch.zeros(1), normalise="sum")
