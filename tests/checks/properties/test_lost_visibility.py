"""Tokens are not read that should be: on which routes, and why."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

HIDDEN = float("-inf")
SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "lost-visibility")


def simple(attention):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x), x.shape[1]))

    return Simple()


def scores(query, key):
    return query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5


def b1_function():
    def attn(query, key, v):
        return F.scaled_dot_product_attention(query, key, v, is_causal=True)

    return attn


def b1_function_hand():
    def attn(query, key, v):
        keep = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
        return scores(query, key).masked_fill(~keep, HIDDEN).softmax(-1).nan_to_num() @ v

    return attn


def b1_chunk():
    class M(Layer):
        def forward(self, x, cache=None):
            query, key, value = self.projected(x)
            if cache is not None:
                key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
            keep = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()
            return self.mixed(attended(query, key, value, keep)), (key, value)

    return M()


def b2_strict():
    return simple(
        lambda query, key, value, t: (
            scores(query, key).masked_fill(~torch.ones(t, t).tril(-1).bool(), -1e9).softmax(-1) @ value
        )
    )


def b2_strict_sdpa():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(
            query, key, value, attn_mask=torch.ones(t, t).tril(-1).bool()
        )
    )


def b2_full():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(query, key, value, attn_mask=~torch.eye(t).bool())
    )


def b2_full_residual():
    class M(Layer):
        def forward(self, x):
            query, key, value = self.projected(x)
            t = x.shape[1]
            return x + self.mixed(attended(query, key, value, ~torch.eye(t).bool()))

    return M()


def b3_encoder():
    return simple(lambda query, key, value, t: F.scaled_dot_product_attention(query, key, value, is_causal=True))


def b3_cross():
    class M(Layer):
        def forward(self, x, memory):
            query, key, value = self.projected(x, memory)
            return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))

    return M()


def b3_cross_hand():
    class M(Layer):
        def forward(self, x, memory):
            query, key, value = self.projected(x, memory)
            return self.mixed(attended(query, key, value, causal(x.shape[1], memory.shape[1])))

    return M()


def b3_mha():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x):
            return self.a(x, x, x, attn_mask=torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), need_weights=False)[0]

    return M().eval()


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(b1_function, "B1", graph="causal()"),
    case(b1_function_hand, "B1", graph="causal()"),
    case(b1_chunk, "B1", graph="causal()"),
    case(b2_strict, "B2", graph="causal()"),
    case(b2_strict_sdpa, "B2", graph="causal()"),
    case(b2_full, "B2", graph="full()"),
    case(b2_full_residual, "B2", graph="full()"),
    case(b3_encoder, "B3", graph="full()"),
    case(b3_cross, "B3"),
    case(b3_cross_hand, "B3"),
    case(b3_mha, "B3", graph="full()"),
]
ROUTES = {
    b1_chunk: lambda route: route.cached,
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("lost-visibility", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["lost-visibility", kind])
    assert all(one.measured and one.expected for one in found["lost-visibility", kind])


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)
