"""Weights that do not sum to one along the keys, and rows without a key."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, causal

PROPERTY = next(one for one in PROPERTIES if one.name == "normalisation")
HIDDEN = float("-inf")


def in_layer(attention):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x)))

    return Simple()


def scores(q, k, hidden=False):
    found = q @ k.mT * q.shape[-1] ** -0.5
    return found.masked_fill(~causal(q.shape[2], k.shape[2]), HIDDEN) if hidden else found


def keep(q):
    return causal(q.shape[2])


def over_e(q, k, v, total):
    e = scores(q, k, hidden=True).exp()
    return e / total(e) @ v


WRONG = {
    "over_queries": ("H1", lambda q, k, v: scores(q, k).softmax(-2) @ v),
    "over_heads": ("H1", lambda q, k, v: scores(q, k).softmax(1) @ v),
    "over_sequences": ("H1", lambda q, k, v: scores(q, k).softmax(0) @ v),
    "over_all": ("H1", lambda q, k, v: scores(q, k).flatten(2).softmax(-1).view(scores(q, k).shape) @ v),
    "by_hand_over_queries": ("H1", lambda q, k, v: over_e(q, k, v, lambda e: e.sum(-2, keepdim=True))),
    "by_einsum_over_queries": (
        "H1",
        lambda q, k, v: torch.einsum("bhij,bhjd->bhid", torch.einsum("bhid,bhjd->bhij", q, k).softmax(2), v),
    ),
    "times_mask_after": ("H2", lambda q, k, v: scores(q, k).softmax(-1) * keep(q) @ v),
    "filled_after": ("H2", lambda q, k, v: scores(q, k).softmax(-1).masked_fill(~keep(q), 0) @ v),
    "tril_after": ("H2", lambda q, k, v: scores(q, k).softmax(-1).tril() @ v),
    "one_more": ("H4", lambda q, k, v: over_e(q, k, v, lambda e: 1 + e.sum(-1, keepdim=True))),
    "of_everything": ("H4", lambda q, k, v: over_e(q, k, v, lambda e: e.sum())),
    "length": ("H4", lambda q, k, v: scores(q, k, hidden=True).softmax(-1) / k.shape[2] @ v),
    "norm": ("H4", lambda q, k, v: F.normalize(scores(q, k, hidden=True).softmax(-1), dim=-1) @ v),
    "twice": ("H4", lambda q, k, v: scores(q, k, hidden=True).softmax(-1).softmax(-1) @ v),
}
RIGHT = {
    "plain": lambda q, k, v: scores(q, k).softmax(-1) @ v,
    "causal": lambda q, k, v: scores(q, k, hidden=True).softmax(-1) @ v,
    "fused": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "divided_again": lambda q, k, v: F.normalize(scores(q, k).softmax(-1).tril(), p=1, dim=-1) @ v,
    "divided_late": lambda q, k, v: (
        scores(q, k, hidden=True).exp() @ v / scores(q, k, hidden=True).exp().sum(-1, keepdim=True)
    ),
    "soft_cap": lambda q, k, v: (5 * (scores(q, k) / 5).tanh()).softmax(-1) @ v,
    "sigmoid_is_no_softmax": lambda q, k, v: scores(q, k).sigmoid() @ v,
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("where", ["function", "layer"])
def test_what_sums_to_something_else_is_told(observed, name, where):
    kind, attention = WRONG[name]
    found = observed(attention if where == "function" else in_layer(attention), only=[PROPERTY.name])
    assert found
    assert {one.kind for one in found if one.route.batch == 2} == {kind}, found


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("where", ["function", "layer"])
def test_what_sums_to_one_is_right(observed, name, where):
    attention = RIGHT[name]
    assert not observed(attention if where == "function" else in_layer(attention), only=[PROPERTY.name])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_hides_no_wrong_denominator(observed, dtype):
    def weights(divided):
        return in_layer(lambda q, k, v: (divided(scores(q, k, hidden=True).float().exp())).to(q.dtype) @ v).to(dtype)

    assert not observed(weights(lambda e: e / e.sum(-1, keepdim=True)), only=[PROPERTY.name])
    found = observed(weights(lambda e: e / (1 + e.sum(-1, keepdim=True))), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"H4"}


def padded(mask):
    class Masked(Layer):
        def forward(self, x, attention_mask=None):
            query, key, value = self.projected(x)
            edges = causal(x.shape[1])
            if attention_mask is not None:
                edges = edges & attention_mask.bool()[:, None, None, :]
            return x + self.mixed(mask(query @ key.mT / 2, edges) @ value)

    return Masked()


def test_a_row_of_nothing_is_NaN_and_poisons_gradients(observed):  # noqa: N802
    layer = padded(lambda scores, edges: scores.masked_fill(~edges, HIDDEN).softmax(-1))
    found = observed(layer, only=[PROPERTY.name])
    assert {one.kind for one in found} == {"H3"}
    assert {one.route.mask for one in found} == {"left"}
    assert "gradient" in found[0].measured


def test_weights_of_a_pad_that_reads_nothing_may_sum_to_anything(observed):
    class Logs(Layer):
        def forward(self, x, mask):
            query, key, value = self.projected(x)
            keep = mask[:, None, None].bool() & causal(x.shape[1])
            scores = (query @ key.mT / 2).masked_fill(~keep, -1e18)
            weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))  # 1 each, where all are that low
            return self.mixed(weights @ value)

    assert not observed(Logs(), only=["normalisation"])


def test_zeros_in_the_output_do_not_mend_the_gradient(observed):
    def weights(scores, edges):
        return (scores + torch.zeros_like(scores).masked_fill(~edges, HIDDEN)).softmax(-1).nan_to_num(0.0)

    found = observed(padded(weights), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"H3"}
    assert "the softmax before it" in found[0].likely


@pytest.mark.parametrize(
    "weights",
    [
        lambda scores, edges: scores.masked_fill(~edges, -1e30).softmax(-1),
        lambda scores, edges: scores.masked_fill(~(edges | torch.eye(edges.shape[-1]).bool()), HIDDEN).softmax(-1),
        lambda scores, edges: scores.masked_fill(~edges, HIDDEN).softmax(-1).nan_to_num(0.0),
    ],
)
def test_a_row_of_nothing_may_give_anything_that_harms_nobody(observed, weights):
    assert not observed(padded(weights), only=[PROPERTY.name])


def test_a_function_of_a_mask_is_given_a_row_of_nothing(observed):
    def attention(q, k, v, mask):
        return (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~mask, HIDDEN).softmax(-1) @ v

    def guarded(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    assert {one.kind for one in observed(attention, only=[PROPERTY.name])} == {"H3"}
    assert not observed(guarded, only=[PROPERTY.name])


def test_dropout_in_training_and_torchs_own_layers_are_right(observed):
    for layer in (
        nn.MultiheadAttention(16, 4, dropout=0.3, batch_first=True),
        nn.TransformerEncoderLayer(16, 4, 32, batch_first=True),
    ):
        assert not observed(layer, only=[PROPERTY.name])


BARE = {
    "as it is": lambda q, k, v: q @ k.mT * 0.1 @ v,
    "masked": lambda q, k, v: scores(q, k, hidden=True) @ v,
    "with a bias": lambda q, k, v: (scores(q, k) - torch.arange(k.shape[2])) @ v,
}


@pytest.mark.parametrize("name", BARE)
def test_scores_without_a_softmax_are_told(observed, name):
    found = observed(in_layer(BARE[name]), only=[PROPERTY.name])
    assert {(one.kind, one.likely) for one in found} == {("H4", "there is no softmax between scores and values")}


def test_a_decay_in_place_of_a_softmax_is_another_design(observed):
    def retained(q, k, v):
        far = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
        return q @ k.mT * 0.9 ** far.clamp(min=0) * (far >= 0) @ v

    assert not observed(in_layer(retained), only=[PROPERTY.name])


class Cross(Layer):
    def __init__(self, axis):
        super().__init__()
        self.axis = axis

    def forward(self, x, memory):
        query, key, value = self.projected(x, memory)
        return x + self.mixed((query @ key.mT / 2).softmax(self.axis) @ value)


def test_a_softmax_over_heads_beside_a_memory_is_told(observed):
    assert {one.kind for one in observed(Cross(1), only=[PROPERTY.name])} == {"H1"}
    assert not observed(Cross(-1), only=[PROPERTY.name])


def test_sinks_that_are_declared_are_right(observed):
    _, attention = WRONG["one_more"]
    assert not observed(attention, only=[PROPERTY.name], sinks=True)


def test_the_example_is_caught_and_its_right_version_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    assert set(named(broken.target, **broken.declared)) == {("normalisation", "H1")}
    assert not named(right.target, **right.declared)
