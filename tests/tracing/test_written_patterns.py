"""The many ways in which people write attention: each is found, with what it is made of, and left as it was."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise.graphs import causal, full, keys
from edgewise.tracing import Captured, trace

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 5, 4
FUTURE = torch.ones(LENGTH, LENGTH).triu(1).bool()
PADDING = torch.tensor([[False] * 3 + [True] * 2, [False] * 5])
LOWEST = torch.finfo(torch.float32).min
MODES = [torch.enable_grad, torch.no_grad, torch.inference_mode]


class Model(nn.Module):
    """Projects to queries, keys and values (batch, length, heads, width), and does as it is told with them."""

    def __init__(self, told: Callable[..., Tensor], dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.told = told
        self.query, self.key, self.value = (nn.Linear(HEADS * WIDTH, HEADS * WIDTH, dtype=dtype) for _ in range(3))
        self.sink = nn.Parameter(torch.randn(HEADS, dtype=dtype))
        self.table = nn.Parameter(torch.randn(HEADS, LENGTH, LENGTH, dtype=dtype))
        self.latent = nn.Parameter(torch.randn(1, HEADS, 2, WIDTH, dtype=dtype))
        self.warmth = nn.Parameter(torch.tensor(0.7, dtype=dtype))
        self.between = nn.Parameter(torch.randn(HEADS, HEADS, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return self.told(self, *(one(x).unflatten(-1, (HEADS, WIDTH)) for one in (self.query, self.key, self.value)))


def heads(x: Tensor) -> Tensor:
    """(batch, heads, length, width)"""
    return x.transpose(1, 2)


def folded(x: Tensor) -> Tensor:
    """(batch × heads, length, width)"""
    return heads(x).reshape(-1, x.shape[1], WIDTH)


def raw(q: Tensor, k: Tensor) -> Tensor:
    return heads(q) @ heads(k).transpose(-2, -1)


def scaled(q: Tensor, k: Tensor) -> Tensor:
    return raw(q, k) / math.sqrt(WIDTH)


def added(visible: Tensor, lowest: float = -torch.inf) -> Tensor:
    return torch.zeros(visible.shape).masked_fill(~visible, lowest)


PATTERNS: dict[str, tuple[Callable[..., Tensor], dict[str, object]]] = {}
NONE: dict[str, tuple[Callable[..., Tensor], str]] = {}


def pattern(**expected: object) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    def kept(told: Callable[..., Tensor]) -> Callable[..., Tensor]:
        PATTERNS[told.__name__] = told, expected
        return told

    return kept


def none(why: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    def kept(told: Callable[..., Tensor]) -> Callable[..., Tensor]:
        NONE[told.__name__] = told, why
        return told

    return kept


@pattern()
def einsum_of_lengths_first(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / WIDTH**0.5
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


@pattern(graph=causal())
def einsum_with_heads_between(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bqhd,bkhd->bqhk", q, k) / WIDTH**0.5
    scores = scores.masked_fill(FUTURE[None, :, None, :], -1e9)
    return torch.einsum("bqhk,bkhd->bqhd", scores.softmax(-1), v)


@pattern()
def keys_first(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = (heads(k) @ heads(q).mT * WIDTH**-0.5).softmax(-2)
    return weights.mT @ heads(v)


@pattern()
def values_first(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (heads(v).mT @ scaled(q, k).softmax(-1).mT).mT


@pattern()
def heads_folded_into_the_batch(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.bmm(folded(q * WIDTH**-0.5), folded(k).transpose(1, 2)).softmax(-1)
    return torch.bmm(weights, folded(v)).view(BATCH, HEADS, LENGTH, WIDTH)


@pattern(graph=keys(~PADDING.numpy()))
def folded_and_unfolded_for_the_mask(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.bmm(folded(q * WIDTH**-0.5), folded(k).transpose(1, 2))
    scores = scores.view(BATCH, HEADS, LENGTH, LENGTH) + added(~PADDING, LOWEST)[:, None, None]
    return torch.bmm(scores.view(-1, LENGTH, LENGTH).softmax(-1), folded(v))


@pattern()
def time_before_batch(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = (
        x.flatten(2).transpose(0, 1).contiguous().view(LENGTH, BATCH * HEADS, WIDTH).transpose(0, 1) for x in (q, k, v)
    )
    weights = torch.bmm(q * WIDTH**-0.5, k.transpose(1, 2)).softmax(-1)
    return torch.bmm(weights, v).transpose(0, 1).contiguous().view(LENGTH, BATCH, -1)


@pattern(graph=causal())
def baddbmm_with_a_mask(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = added(~FUTURE).expand(BATCH * HEADS, LENGTH, LENGTH)
    scores = torch.baddbmm(mask, folded(q), folded(k).transpose(1, 2), alpha=WIDTH**-0.5)
    return torch.bmm(scores.softmax(-1), folded(v))


@pattern(bias=(1, HEADS, LENGTH, LENGTH))
def a_table_of_biases(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (m.table + scaled(q, k)).softmax(-1) @ heads(v)


@pattern(bias=(1, HEADS, LENGTH, LENGTH), scale=1.0)
def a_learned_temperature(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (raw(q, k) * m.warmth + m.table).softmax(-1) @ heads(v)


@pattern(scale=1.0)
def cosines_with_a_scale_a_head(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k = functional.normalize(q, dim=-1), functional.normalize(k, dim=-1)
    return (raw(q, k) * m.sink.exp().view(HEADS, 1, 1)).softmax(-1) @ heads(v)


@pattern()
def both_sides_scaled(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return raw(q * WIDTH**-0.25, k * WIDTH**-0.25).softmax(-1) @ heads(v)


@pattern()
def a_scale_that_is_a_tensor(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (raw(q, k) / torch.sqrt(torch.tensor(float(WIDTH)))).softmax(-1) @ heads(v)


@pattern(graph=causal())
def in_place(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = raw(q, k)
    scores.div_(math.sqrt(WIDTH))
    scores.masked_fill_(FUTURE, -torch.inf)
    return scores.softmax(-1) @ heads(v)


@pattern(graph=causal())
def where_the_mask_says(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.where(FUTURE, LOWEST, scaled(q, k)).softmax(-1) @ heads(v)


@pattern(graph=causal())
def where_with_a_whole_tensor(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k)
    return torch.where(~FUTURE, scores, -9e15 * torch.ones_like(scores)).softmax(-1) @ heads(v)


@pattern(graph=causal())
def assigned_by_a_mask(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k)
    scores[:, :, FUTURE] = -torch.inf
    return scores.softmax(-1) @ heads(v)


@pattern(graph=causal())
def multiplied_and_then_lowered(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    visible = (~FUTURE).float().view(1, 1, LENGTH, LENGTH)
    return (scaled(q, k) * visible - 1e4 * (1 - visible)).softmax(-1) @ heads(v)


@pattern(graph=causal())
def zeros_made_infinite(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = raw(q, k).tril()
    scores = scores.masked_fill(scores == 0, -torch.inf) / WIDTH**0.5
    return scores.softmax(-1) @ heads(v)


@pattern(graph=causal() & keys(~PADDING.numpy()))
def two_masks(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k).masked_fill(PADDING[:, None, None], -1e30).masked_fill(FUTURE, -1e30)
    return scores.softmax(-1) @ heads(v)


@pattern(graph=causal(), soft_cap=5.0)
def a_soft_cap(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (torch.tanh(scaled(q, k) / 5.0) * 5.0).masked_fill(FUTURE, -torch.inf).softmax(-1) @ heads(v)


@pattern(graph=causal())
def exponentials_over_their_sum(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k).masked_fill(FUTURE, -torch.inf)
    grown = (scores - scores.amax(-1, keepdim=True)).exp()
    return (grown / grown.sum(-1, keepdim=True)) @ heads(v)


@pattern(graph=causal())
def exponentials_times_a_mask(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    grown = scaled(q, k).exp() * ~FUTURE
    return (grown / (grown.sum(-1, keepdim=True) + 1e-9)) @ heads(v)


@pattern()
def less_the_logarithm_of_the_sum(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k)
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ heads(v)


@pattern()
def a_logarithm_first(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return functional.log_softmax(scaled(q, k), -1).exp() @ heads(v)


@pattern(graph=causal())
def masked_after_the_softmax_and_divided_again(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = scaled(q, k).softmax(-1) * ~FUTURE
    return (weights / weights.sum(-1, keepdim=True)) @ heads(v)


@pattern(graph=keys(~PADDING.numpy()))
def masked_before_and_after(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = PADDING[:, None, None]
    return scaled(q, k).masked_fill(mask, LOWEST).softmax(-1).masked_fill(mask, 0.0) @ heads(v)


@pattern(groups=1, graph=causal())
def one_key_for_all_heads(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("b h i d, b j d -> b h i j", heads(q), k[:, :, 0]) * WIDTH**-0.5
    return torch.einsum("b h i j, b j d -> b h i d", scores.masked_fill(FUTURE, -torch.inf).softmax(-1), v[:, :, 0])


@pattern(groups=HEADS, heads=2 * HEADS)
def groups_as_an_axis(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q = torch.cat([q, q + 1], 2).view(BATCH, LENGTH, HEADS, 2, WIDTH)
    scores = torch.einsum("bighd,bjgd->bghij", q, k) * WIDTH**-0.5
    return torch.einsum("bghij,bjgd->bighd", scores.softmax(-1), v)


@pattern(groups=2 * HEADS, heads=2 * HEADS)
def groups_repeated(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = torch.cat([q, q + 1], 2), k.repeat_interleave(2, 2), v.repeat_interleave(2, 2)
    return scaled(q, k).softmax(-1) @ heads(v)


@pattern(graph=causal(), sinks=True)
def sinks_as_a_last_column(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    sinks = m.sink.reshape(1, -1, 1, 1).expand(BATCH, -1, LENGTH, -1)
    scores = torch.cat([scaled(q, k) + added(~FUTURE, LOWEST), sinks], -1)
    scores = scores - scores.max(-1, keepdim=True).values
    return scores.softmax(-1)[..., :-1] @ heads(v)


@pattern(sinks=True)
def sinks_as_a_first_column(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    sinks = m.sink.reshape(1, -1, 1, 1).expand(BATCH, -1, LENGTH, -1)
    return torch.cat([sinks, scaled(q, k)], -1).softmax(-1)[..., 1:] @ heads(v)


@pattern(queries=2)
def learned_queries(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (m.latent.expand(BATCH, -1, -1, -1) @ heads(k).mT * WIDTH**-0.5).softmax(-1) @ heads(v)


@pattern(bias=(BATCH, HEADS, LENGTH, LENGTH))
def windows_with_a_mask_each(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = torch.zeros(2, LENGTH, LENGTH)
    mask[1, :2, 3:] = -100.0
    scores = scaled(q, k) + m.table
    scores = scores.view(1, 2, HEADS, LENGTH, LENGTH) + mask[None, :, None]
    return scores.view(BATCH, HEADS, LENGTH, LENGTH).softmax(-1) @ heads(v)


@pattern()
def a_softmax_of_rows_alone(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = functional.softmax(scaled(q, k).view(-1, LENGTH), -1)
    return weights.view(BATCH, HEADS, LENGTH, LENGTH) @ heads(v)


@pattern()
def one_head_switched_off(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scaled(q, k).softmax(-1) * torch.tensor([1.0, 0.0, 1.0]).view(1, HEADS, 1, 1)) @ heads(v)


@pattern(queries=1)
def one_query_without_an_axis(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bhd,bkhd->bhk", q[:, 0], k) * WIDTH**-0.5
    return torch.einsum("bhk,bkhd->bhd", scores.softmax(-1), v)


@pattern()
def clamped_to_what_it_is(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k)
    return (scores - scores.max()).clamp(-5e4, 5e4).softmax(-1) @ heads(v)


@pattern()
def nan_taken_away(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    everything = torch.ones(LENGTH, dtype=torch.bool).view(-1, 1).expand(-1, LENGTH).clone()
    everything[1:] = False  # the first query has no key
    return torch.nan_to_num(scaled(q, k).masked_fill(everything, -torch.inf).softmax(-1)) @ heads(v)


@none("their softmax runs over the queries, while values are summed over the keys")
def the_wrong_axis(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled(q, k).softmax(-2) @ heads(v)


@none("their softmax runs over heads or sequences, not over keys")
def the_axis_of_heads(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled(q, k).softmax(1) @ heads(v)


@none("some are set to zero, which hides no key: −∞ would")
def zeros_for_a_mask(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scaled(q, k) * ~FUTURE).softmax(-1) @ heads(v)


@none("some weights are set to zero after the softmax: they no longer sum to 1")
def masked_after_the_softmax_alone(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scaled(q, k).softmax(-1) * ~FUTURE) @ heads(v)


@none("they are mixed by a product with a parameter")
def heads_that_talk_before(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.einsum("bhij,hg->bgij", scaled(q, k), m.between).softmax(-1) @ heads(v)


@none("their weights are mixed between heads or sequences after the softmax")
def heads_that_talk_after(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.einsum("bhij,hg->bgij", scaled(q, k).softmax(-1), m.between) @ heads(v)


@none("they go through relu")
def another_function_between(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled(q, k).relu().softmax(-1) @ heads(v)


@none("they are multiplied with values before they are divided by their sum")
def divided_late(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    grown = scaled(q, k).exp()
    return (grown @ heads(v)) / grown.sum(-1, keepdim=True)


@none("they are written into by fill")
def one_column_overwritten(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled(q, k)
    scores[..., 0] = 0
    return scores.softmax(-1) @ heads(v)


@none("the scores of several products are joined before their softmax")
def two_memories(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.cat([scaled(q, k), scaled(q, k + 1)], -1).softmax(-1)
    return weights[..., :LENGTH] @ heads(v) + weights[..., LENGTH:] @ heads(v + 1)


@none("some are replaced by -5, which hides no key and is no score")
def a_mask_that_hides_little(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled(q, k).masked_fill(FUTURE, -5.0).softmax(-1) @ heads(v)


@none("their weights are multiplied with numbers of their own after the softmax")
def gates_on_weights(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scaled(q, k).softmax(-1) * m.table.sigmoid()) @ heads(v)


@none("they go through two softmaxes")
def twice(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled(q, k).softmax(-1).softmax(-1) @ heads(v)


@none("each of them is multiplied with a number of its own")
def gates_on_scores(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scaled(q, k) * m.table).softmax(-1) @ heads(v)


def compared(model: nn.Module, x: Tensor, mode: Callable[[], torch.no_grad]) -> list[Captured]:
    """The calls, once it is sure that outputs and gradients are those of an untouched run to the bit."""
    with mode():
        plain = model(x)
        with trace(model, check="all") as run:
            seen = model(x)
    assert torch.equal(plain, seen)
    if plain.requires_grad:
        parameters = [one for one in model.parameters() if one.requires_grad]
        found = [
            torch.autograd.grad(one.float().square().sum(), parameters, allow_unused=True) for one in (plain, seen)
        ]
        assert all(one is other or torch.equal(one, other) for one, other in zip(*found, strict=True))
    model.unexplained = run.unexplained
    return run.calls


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("mode", MODES)
def test_attention_is_found_however_it_is_written(name: str, mode: Callable[[], torch.no_grad]) -> None:
    told, expected = PATTERNS[name]
    (call,) = compared(Model(told), torch.randn(BATCH, LENGTH, HEADS * WIDTH), mode)
    many = expected.get("heads", HEADS)
    assert call.query.shape == (BATCH, many, expected.get("queries", LENGTH), WIDTH)
    assert call.key.shape == call.value.shape == (BATCH, expected.get("groups", HEADS), LENGTH, WIDTH)
    assert call.out.shape == call.query.shape
    assert call.scale == pytest.approx(expected.get("scale", 0.5))
    if name != "nan_taken_away":
        assert call.graph == expected.get("graph", full())
    assert (None if call.bias is None else call.bias.shape) == expected.get("bias")
    assert call.soft_cap == expected.get("soft_cap")
    assert (call.sinks is not None) == expected.get("sinks", False)
    assert call.residual < 2e-6


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_attention_is_not_claimed_and_why_is_said(name: str) -> None:
    told, why = NONE[name]
    model = Model(told)
    for mode in MODES:
        assert compared(model, torch.randn(BATCH, LENGTH, HEADS * WIDTH), mode) == []
        assert model.unexplained == {"Model": why}


def test_half_precision_is_widened_for_the_softmax_and_narrowed_again() -> None:
    def told(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = raw(q, k) * WIDTH**-0.5 + added(~FUTURE, torch.finfo(q.dtype).min).to(q.dtype)
        return functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ heads(v)

    for mode in MODES:
        x = torch.randn(BATCH, LENGTH, HEADS * WIDTH, dtype=torch.bfloat16)
        (call,) = compared(Model(told, torch.bfloat16), x, mode)
        assert call.graph == causal()
        assert call.dtype == torch.bfloat16


def test_autocast_is_seen_through() -> None:
    def told(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled(q, k).masked_fill(FUTURE, -torch.inf).softmax(-1) @ heads(v)

    model = Model(told)
    with torch.autocast("cpu", torch.bfloat16):
        (call,) = compared(model, torch.randn(BATCH, LENGTH, HEADS * WIDTH), torch.no_grad)
    assert call.graph == causal()


def test_queries_in_chunks_are_a_call_each() -> None:
    def told(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = [(scaled(q[:, at : at + 2], k)).softmax(-1) @ heads(v) for at in range(0, LENGTH, 2)]
        return torch.cat(out, 2)

    calls = compared(Model(told), torch.randn(BATCH, LENGTH, HEADS * WIDTH), torch.no_grad)
    assert [call.query.shape[2] for call in calls] == [2, 2, 1]


def test_a_matrix_without_batch_and_a_single_vector_are_attention_too() -> None:
    def told(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (one[0, :, 0] for one in (q, k, v))
        return (q @ k.T / 2).softmax(-1) @ v + (k @ q[0] / 2).softmax(0) @ v

    calls = compared(Model(told), torch.randn(BATCH, LENGTH, HEADS * WIDTH), torch.no_grad)
    assert [tuple(call.query.shape) for call in calls] == [(1, 1, LENGTH, WIDTH), (1, 1, 1, WIDTH)]


def test_a_router_over_a_parameter_is_no_attention() -> None:
    def told(m: Model, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q.flatten(2) @ m.query.weight[:LENGTH].T).softmax(-1) @ v.flatten(2)

    model = Model(told)
    assert compared(model, torch.randn(BATCH, LENGTH, HEADS * WIDTH), torch.no_grad) == []
    assert model.unexplained == {}
