"""Documents in one row read each other, or stand in the wrong places."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "packing-leak")


class Doc(Layer):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x, document_ids):
        query, key, value = self.projected(x)
        t = x.shape[1]
        d = document_ids
        return self.mixed(attended(query, key, value, (causal(t)[None] & self.f(d) | torch.eye(t).bool())[:, None]))


def same(a, b):
    return a[:, :, None] == b[:, None, :]


def f1_docs():
    return Doc(lambda d: torch.ones(d.shape[0], d.shape[1], d.shape[1]).bool())


def f_ok():
    return Doc(lambda d: same(d, d))


def f1_le():
    return Doc(lambda d: d[:, :, None] >= d[:, None, :])


def f2_shift():
    def f(d):
        e = torch.cat([d[:, :1], d[:, :-1]], 1)
        return same(e, e)

    return Doc(f)


def f2_pos():
    class M(Layer):
        def forward(self, x, position_ids=None):
            query, key, value = self.projected(x)
            t = x.shape[1]
            pos = torch.arange(t).expand(x.shape[:2]) if position_ids is None else position_ids
            d = F.pad((pos[:, 1:] < pos[:, :-1]).long(), (1, 0)).cumsum(-1)
            keep = causal(t)[None] & same(d, d)
            return self.mixed(attended(query, key, value, keep[:, None]))

    return M()


def f_pos_only_ok():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, position_ids=None):
            pos = torch.arange(x.shape[1]).expand(x.shape[:2]) if position_ids is None else position_ids
            query, key, value = self.projected(x + self.p(pos))
            return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))

    return M()


def f_pos_pack_ok():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, position_ids=None):
            pos = torch.arange(x.shape[1]).expand(x.shape[:2]) if position_ids is None else position_ids
            d = (pos == 0).cumsum(-1)
            query, key, value = self.projected(x + self.p(pos))
            return self.mixed(
                F.scaled_dot_product_attention(
                    query, key, value, attn_mask=(causal(x.shape[1])[None] & same(d, d))[:, None]
                )
            )

    return M()


def f1_sdpa():
    class M(Layer):
        def forward(self, x, position_ids=None):
            query, key, value = self.projected(x)
            return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))

    return M()


def f3_learned():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, document_ids):
            x = x + self.p(torch.arange(x.shape[1]))
            query, key, value = self.projected(x)
            t = x.shape[1]
            d = document_ids
            return self.mixed(attended(query, key, value, (causal(t)[None] & same(d, d))[:, None]))

    return M()


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(f1_docs, "F1", graph="causal()"),
    case(f1_le, "F1", graph="causal()"),
    case(f2_shift, "F2", graph="causal()"),
    case(f2_pos, "F2", graph="causal()"),
    case(f1_sdpa, "F1", graph="causal()"),
    case(f3_learned, "F3", graph="causal()"),
]
RIGHT = [
    case(f_ok, "", graph="causal()"),
    case(f_pos_only_ok, "", graph="causal()"),
    case(f_pos_pack_ok, "", graph="causal()"),
]
ROUTES = {
    f1_docs: lambda route: route.packed,
    f2_pos: lambda route: route.packed,
    f1_sdpa: lambda route: route.packed,
    f3_learned: lambda route: route.packed,
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("packing-leak", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["packing-leak", kind])
    assert all(one.measured and one.expected for one in found["packing-leak", kind])


@pytest.mark.parametrize(("build", "kind", "declared"), RIGHT)
def test_what_is_right_is_not_flagged(named, build, kind, declared):
    assert not named(build(), **declared)


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)
