"""Heads that are split, merged or shared wrongly."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal, merged, split

PROPERTY = next(one for one in PROPERTIES if one.name == "head-mapping")


class Headed(Layer):
    def __init__(self, kind, attention):
        super().__init__()
        self.kind, self.attention = kind, attention

    def forward(self, x):
        batch, tokens, channels = x.shape
        parts = [self.query(x), self.key(x), self.value(x)]
        if self.kind in ("J1", "both"):
            query, key, value = (one.view(batch, self.heads, tokens, -1) for one in parts)
        elif self.kind == "J1 of one":
            query, key, value = (
                parts[0].view(batch, self.heads, tokens, -1),
                *(split(one, self.heads) for one in parts[1:]),
            )
        elif self.kind == "J3":
            query, key, value = (one.view(batch, tokens, self.heads, -1) for one in parts)
        else:
            query, key, value = (split(one, self.heads) for one in parts)
        if self.kind == "J5 keys":
            key = query
        if self.kind == "J5 values":
            value = key
        if self.kind == "J5 shared":
            key, value = key[:, :1].expand_as(key), value[:, :1].expand_as(value)
        if self.kind == "J5 queries":
            query = query[:, :1].expand_as(query)
        out = self.attention(query, key, value)
        if self.kind in ("J2", "both", "J3"):
            return self.out(out.reshape(batch, tokens, channels))
        return self.out(merged(out))


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def fused_causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def by_hand_causal(q, k, v):
    return attended(q, k, v, causal(q.shape[2]))


WAYS = [fused, fused_causal, attended, by_hand_causal]


@pytest.mark.parametrize(
    "kind", ["J1", "J1 of one", "both", "J2", "J3", "J5 keys", "J5 values", "J5 shared", "J5 queries"]
)
@pytest.mark.parametrize("way", WAYS)
def test_heads_mixed_up_in_a_layer_are_named(observed, kind, way):
    found = observed(Headed(kind, way), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"J1" if kind == "both" else kind[:2]}, found


@pytest.mark.parametrize("way", WAYS)
def test_a_layer_with_heads_in_order_is_right(observed, way):
    assert not observed(Headed("", way), only=[PROPERTY.name])


class Grouped(nn.Module):
    def __init__(self, spread, attention, groups=2):
        super().__init__()
        self.spread, self.attention, self.groups = spread, attention, groups
        self.q, self.o = nn.Linear(16, 24), nn.Linear(24, 16)
        self.k, self.v = nn.Linear(16, 4 * groups), nn.Linear(16, 4 * groups)

    def forward(self, x):
        query, key, value = split(self.q(x), 6), split(self.k(x), self.groups), split(self.v(x), self.groups)
        return self.o(merged(self.attention(query, self.spread(key), self.spread(value))))


@pytest.mark.parametrize("way", [fused, attended])
def test_key_heads_that_are_tiled_in_a_layer_are_told(observed, way):
    tiled = Grouped(lambda one: one.repeat(1, 3, 1, 1), way)
    assert {one.kind for one in observed(tiled, only=[PROPERTY.name])} == {"J4"}
    assert not observed(Grouped(lambda one: one.repeat_interleave(3, 1), way), only=[PROPERTY.name])
    assert not observed(Grouped(lambda one: one.expand(-1, 6, -1, -1), way, groups=1), only=[PROPERTY.name])


def many(q, k):
    return q.shape[1] // k.shape[1]


FUNCTIONS = {
    "tiled": ("J4", lambda q, k, v: attended(q, k.repeat(1, many(q, k), 1, 1), v.repeat(1, many(q, k), 1, 1))),
    "values_tiled": (
        "J4",
        lambda q, k, v: attended(q, k.repeat_interleave(many(q, k), 1), v.repeat(1, many(q, k), 1, 1)),
    ),
    "one_for_all": ("J5", lambda q, k, v: attended(q[:, :1], k[:, :1], v)),
    "keys_as_values": ("J5", lambda q, k, v: attended(q, k, k)),
    "queries_as_keys": ("J5", lambda q, k, v: attended(q, q, v)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_heads_mixed_up_by_a_function_are_named(observed, name):
    kind, attention = FUNCTIONS[name]
    assert {one.kind for one in observed(attention, only=[PROPERTY.name])} == {kind}


@pytest.mark.parametrize(
    "attention",
    [
        attended,
        lambda q, k, v: attended(q, k.repeat_interleave(many(q, k), 1), v.repeat_interleave(many(q, k), 1)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    ],
)
def test_a_function_with_heads_in_order_is_right(observed, attention):
    assert not observed(attention, only=[PROPERTY.name])


def test_a_layer_without_projections_and_torchs_own_are_right(observed):
    class Bare(nn.Module):
        def forward(self, x):
            return merged(attended(*(split(x, 4),) * 3))

    for layer in (Bare(), nn.MultiheadAttention(16, 4, batch_first=True)):
        assert not observed(layer, only=[PROPERTY.name], reads="floats", width=16)


def test_the_example_is_caught_and_its_right_version_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    assert set(named(broken.target, **broken.declared)) == {("head-mapping", "J4")}
    assert not named(right.target, **right.declared)


def test_a_head_that_is_named_is_the_first_that_is_wrong(observed):
    found = observed(Headed("J2", fused), only=[PROPERTY.name])
    assert found[0].head == 0
    assert "row 1 of head 0 moves the output of token 0" in found[0].measured
    assert torch.get_default_dtype() == torch.float64


@pytest.mark.parametrize("tokens", [1, 5])
def test_keys_that_have_nothing_to_choose_between_are_not_unused(observed, tokens):
    class Cross(nn.Module):
        """Reads a picture that says nothing, in one place or in several."""

        def __init__(self):
            super().__init__()
            self.q_proj, self.k_proj, self.v_proj = (nn.Linear(16, 16, bias=False) for _ in range(3))

        def forward(self, x):
            memory = x.new_zeros(len(x), tokens, 16)
            query, key, value = split(self.q_proj(x), 4), split(self.k_proj(memory), 4), split(self.v_proj(memory), 4)
            return x + merged(F.scaled_dot_product_attention(query, key, value))

    assert not observed(Cross(), only=[PROPERTY.name])
