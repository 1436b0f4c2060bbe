"""Later tokens are read: on which routes, and why."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "future-leak")


def simple(attention):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x), x.shape[1]))

    return Simple()


def a1_train():
    class M(Layer):
        def forward(self, x):
            query, key, value = self.projected(x)
            if self.training:
                return self.mixed(attended(query, key, value))
            return self.mixed(attended(query, key, value, causal(x.shape[1])))

    return M()


def a1_no_padding():
    class M(Layer):
        def forward(self, x, attention_mask=None):
            query, key, value = self.projected(x)
            if attention_mask is None:
                return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))
            return self.mixed(
                F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask.bool()[:, None, None, :])
            )

    return M()


def a1_none_route_mha():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x, need_weights=False):
            m = None if need_weights else torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
            o, w = self.a(x, x, x, attn_mask=m, need_weights=need_weights)
            return (o, w) if need_weights else o

    return M().eval()


def a1_cached_chunk():
    class M(Layer):
        def forward(self, x, cache=None):
            query, key, value = self.projected(x)
            if cache is not None:
                key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
                return self.mixed(F.scaled_dot_product_attention(query, key, value)), (key, value)
            return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True)), (key, value)

    return M()


def a2_triu():
    return simple(lambda query, key, value, t: attended(query, key, value, torch.ones(t, t).triu().bool()))


def a2_ahead():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(
            query, key, value, attn_mask=torch.ones(t, t).tril(1).bool()
        )
    )


def a2_flip():
    return simple(lambda query, key, value, t: attended(query, key, value, causal(t).flip(0)))


def a3_mean():
    class M(Layer):
        def forward(self, x):
            x = x - x.mean(1, keepdim=True)
            query, key, value = self.projected(x)
            return self.mixed(attended(query, key, value, causal(x.shape[1])))

    return M()


def a3_conv():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv1d(16, 16, 3, padding=1)

        def forward(self, x):
            query, key, value = self.projected(x)
            h = self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))
            return h + self.c(x.transpose(1, 2)).transpose(1, 2)

    return M()


def a3_norm_time():
    class M(Layer):
        def forward(self, x):
            query, key, value = self.projected(x)
            h = self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))
            return F.layer_norm(h.transpose(1, 2), (h.shape[1],)).transpose(1, 2)

    return M()


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(a1_train, "A1", graph="causal()"),
    case(a1_no_padding, "A1"),
    case(a1_none_route_mha, "A1", graph="causal()"),
    case(a1_cached_chunk, "A1", graph="causal()"),
    case(a2_triu, "A2", graph="causal()"),
    case(a2_ahead, "A2", graph="causal()"),
    case(a2_flip, "A2", graph="causal()"),
    case(a3_mean, "A3", graph="causal()"),
    case(a3_conv, "A3", graph="causal()"),
    case(a3_norm_time, "A3", graph="causal()"),
]
ROUTES = {
    a1_train: lambda route: route.training,
    a1_no_padding: lambda route: route.mask != "none",
    a1_none_route_mha: lambda route: route.weights,
    a1_cached_chunk: lambda route: max(route.cached[1:]) > 1,
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("future-leak", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["future-leak", kind])
    assert all(one.measured and one.expected for one in found["future-leak", kind])


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)
