"""Windows, prefixes and chunks that are a little off, and which mistake it was."""

import pytest
import torch
import torch.nn.functional as F

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "wrong-pattern")


def simple(attention):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x), x.shape[1]))

    return Simple()


def dist(t):
    i = torch.arange(t)
    return i[:, None] - i[None]


def c1_wide_sdpa():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(
            query, key, value, attn_mask=(dist(t) >= 0) & (dist(t) <= 3)
        )
    )


def c1_short():
    return simple(lambda query, key, value, t: attended(query, key, value, (dist(t) >= 0) & (dist(t) < 3)))


def c1_two():
    return simple(lambda query, key, value, t: attended(query, key, value, dist(t).abs() <= 3))


def c1_notself():
    return simple(lambda query, key, value, t: attended(query, key, value, (dist(t) >= 0) & (dist(t) < 3)))


def c1_notself_ok():
    return simple(lambda query, key, value, t: attended(query, key, value, (dist(t) >= 0) & (dist(t) <= 3)))


def c2_ignored():
    return simple(lambda query, key, value, t: F.scaled_dot_product_attention(query, key, value, is_causal=True))


def c2_fused():
    class M(Layer):
        def forward(self, x, fused=True):
            query, key, value = self.projected(x)
            t = x.shape[1]
            if fused:
                return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))
            return self.mixed(attended(query, key, value, (dist(t) >= 0) & (dist(t) < 3)))

    return M()


def c2_side():
    return simple(lambda query, key, value, t: attended(query, key, value, (dist(t) >= 0) & (dist(t) < 3)))


def c2_twoside():
    return simple(lambda query, key, value, t: attended(query, key, value, dist(t).abs() < 3))


def c2_cached():
    class M(Layer):
        def forward(self, x, cache=None):
            query, key, value = self.projected(x)
            n = query.shape[2]
            if cache is not None:
                key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
            t = key.shape[2]
            d = torch.arange(t)[-n:, None] - torch.arange(t)[None]
            keep = (d >= 0) & (d < 3) if n > 1 else d >= 0
            return self.mixed(attended(query, key, value, keep)), (key, value)

    return M()


def c3_or():
    return simple(lambda query, key, value, t: attended(query, key, value, (dist(t) >= 0) | (dist(t).abs() < 3)))


def c3_chunks_or():
    return simple(
        lambda query, key, value, t: attended(
            query, key, value, causal(t) | (torch.arange(t)[:, None] // 4 == torch.arange(t)[None] // 4)
        )
    )


def c3_prefix_and():
    return simple(lambda query, key, value, t: attended(query, key, value, causal(t) & (torch.arange(t) < 3)[None]))


def c3_pad_or():
    class M(Layer):
        def forward(self, x, mask):
            query, key, value = self.projected(x)
            return self.mixed(
                attended(query, key, value, causal(x.shape[1])[None, None] | mask.bool()[:, None, None, :])
            )

    return M()


def c4_prefix():
    return simple(lambda query, key, value, t: attended(query, key, value, causal(t) | (torch.arange(t) <= 3)[None]))


def c4_prefix_causal():
    return simple(lambda query, key, value, t: F.scaled_dot_product_attention(query, key, value, is_causal=True))


def c4_chunk():
    return simple(
        lambda query, key, value, t: attended(
            query, key, value, causal(t) & ((torch.arange(t) + 1)[:, None] // 3 == (torch.arange(t) + 1)[None] // 3)
        )
    )


def c4_chunk3():
    return simple(
        lambda query, key, value, t: F.scaled_dot_product_attention(
            query, key, value, attn_mask=(torch.arange(t)[:, None] // 3 == torch.arange(t)[None] // 3)
        )
    )


def c4_skip():
    return simple(lambda query, key, value, t: attended(query, key, value, causal(t)))


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(c1_wide_sdpa, "C1", graph="window(3)"),
    case(c1_short, "C1", graph="window(4)"),
    case(c1_two, "C1", graph="window(3, ahead=2)"),
    case(c1_notself, "C1", graph="window(3)", window_counts_self=False),
    case(c2_ignored, "C2", graph="window(3)"),
    case(c2_fused, "C2", graph="window(3)"),
    case(c2_side, "C2", graph="window(3, ahead=2)"),
    case(c2_twoside, "C2", graph="window(3)"),
    case(c2_cached, "C2", graph="window(3)"),
    case(c3_or, "C3", graph="window(3)"),
    case(c3_chunks_or, "C3", graph="causal() & chunks(4)"),
    case(c3_prefix_and, "C3", graph="prefix(3)"),
    case(c3_pad_or, "C3", graph="causal()"),
    case(c4_prefix, "C4", graph="prefix(3)"),
    case(c4_prefix_causal, "C4", graph="prefix(3)"),
    case(c4_chunk, "C4", graph="causal() & chunks(3)"),
    case(c4_chunk3, "C4", graph="chunks(4)"),
    case(c4_skip, "C4", graph="causal() | keys([0,0,1,1,1,0,0,0])"),
]
RIGHT = [
    case(c1_notself_ok, "", graph="window(3)", window_counts_self=False),
]
ROUTES = {
    c2_fused: lambda route: not route.switches,
    c2_cached: lambda route: route.cached,
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("wrong-pattern", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["wrong-pattern", kind])
    assert all(one.measured and one.expected for one in found["wrong-pattern", kind])


@pytest.mark.parametrize(("build", "kind", "declared"), RIGHT)
def test_what_is_right_is_not_flagged(named, build, kind, declared):
    assert not named(build(), **declared)


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)
