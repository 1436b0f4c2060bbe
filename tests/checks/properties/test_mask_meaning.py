"""Masks that mean something else than they say."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

HIDDEN = float("-inf")
SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "mask-meaning")


def simple(attention):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x), x.shape[1]))

    return Simple()


def scores(query, key):
    return query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5


class Pad(Layer):
    def forward(self, x, attention_mask=None):
        query, key, value = self.projected(x)
        keep = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        return self.mixed(self.att(query, key, value, keep))


def pad(fn):
    m = Pad()
    m.att = fn
    return m


def g1_hand():
    return simple(lambda query, key, value, t: scores(query, key).masked_fill(causal(t), -1e9).softmax(-1) @ value)


def g1_sign():
    return simple(
        lambda query, key, value, t: (scores(query, key) + torch.ones(t, t).triu(1) * 1e9).softmax(-1) @ value
    )


def g1_kpm():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x, attention_mask):
            return self.a(x, x, x, key_padding_mask=attention_mask.bool(), need_weights=False)[0]

    return M().eval()


def g1_pad():
    return pad(
        lambda query, key, value, keep: (
            scores(query, key).masked_fill(keep, -1e9).softmax(-1) @ value
            if keep is not None
            else attended(query, key, value)
        )
    )


def g2_tiny():
    return simple(lambda query, key, value, t: scores(query, key).masked_fill(~causal(t), 1e-9).softmax(-1) @ value)


def g2_ten():
    return simple(lambda query, key, value, t: scores(query, key).masked_fill(~causal(t), -10.0).softmax(-1) @ value)


def g2_add():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(
            query, key, value, attn_mask=(~causal(t)).double() * -100
        )
    )


def g2_pad():
    return pad(
        lambda query, key, value, keep: (
            attended(query, key, value)
            if keep is None
            else (scores(query, key) + (~keep).double() * -20).softmax(-1) @ value
        )
    )


def g2_where():
    return simple(
        lambda query, key, value, t: torch.where(causal(t), scores(query, key), torch.tensor(-50.0)).softmax(-1) @ value
    )


def g3_min():
    class M(Layer):
        def forward(self, x, attention_mask):
            query, key, value = self.projected(x)
            t = x.shape[1]
            m = (1 - (causal(t) & attention_mask.bool()[:, None, None, :]).to(x.dtype)) * torch.tensor(
                torch.finfo(torch.float32).min
            ).to(x.dtype)
            return self.mixed((scores(query, key) + m).softmax(-1) @ value)

    m = M()
    return m.float()


def g4_causal():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(query, key, value, attn_mask=causal(t).double())
    )


def g4_pad():
    return pad(
        lambda query, key, value, keep: (
            attended(query, key, value) if keep is None else (scores(query, key) + keep.double()).softmax(-1) @ value
        )
    )


def g5_fill():
    def f(query, key, value, t):
        s = scores(query, key)
        s.masked_fill(~causal(t), HIDDEN)
        return s.softmax(-1) @ value

    return simple(f)


def g5_pad():
    def f(query, key, value, keep):
        s = scores(query, key)
        if keep is not None:
            s.masked_fill(~keep, HIDDEN)
        return s.softmax(-1) @ value

    return pad(f)


def g5_where():
    def f(query, key, value, t):
        s = scores(query, key)
        _ = torch.where(causal(t), s, HIDDEN)
        return s.softmax(-1) @ value

    return simple(f)


def g6_scaled():
    def f(query, key, value, t):
        return ((query @ key.transpose(-2, -1) + (~causal(t)).double() * -10) * query.shape[-1] ** -0.5).softmax(
            -1
        ) @ value

    return simple(f)


def g6_div():
    def f(query, key, value, t):
        return ((query @ key.transpose(-2, -1)).masked_fill(~causal(t), -100.0) / math.sqrt(16)).softmax(-1) @ value

    return simple(f)


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(g1_hand, "G1", graph="causal()"),
    case(g1_sign, "G1", graph="causal()"),
    case(g1_kpm, "G1", graph="full()"),
    case(g1_pad, "G1", graph="full()"),
    case(g2_tiny, "G2", graph="causal()"),
    case(g2_ten, "G2", graph="causal()"),
    case(g2_add, "G2", graph="causal()"),
    case(g2_pad, "G2", graph="full()"),
    case(g2_where, "G2", graph="causal()"),
    case(g3_min, "G3", graph="causal()"),
    case(g4_causal, "G4", graph="causal()"),
    case(g4_pad, "G4", graph="full()"),
    case(g5_fill, "G5", graph="causal()"),
    case(g5_pad, "G5", graph="full()"),
    case(g5_where, "G5", graph="causal()"),
    case(g6_scaled, "G6", graph="causal()"),
    case(g6_div, "G6", graph="causal()"),
]
ROUTES = {
    g2_pad: lambda route: route.mask in ("left", "right"),
    g3_min: lambda route: route.dtype in ("float16", "bfloat16"),
    g5_pad: lambda route: route.mask in ("left", "right"),
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("mask-meaning", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["mask-meaning", kind])
    assert all(one.measured and one.expected for one in found["mask-meaning", kind])


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)
