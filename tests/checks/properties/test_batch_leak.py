"""Rows of a batch depend on each other, in every way in which they can."""

import pytest
import torch
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "batch-leak")


def e1_mha():
    return nn.MultiheadAttention(16, 4)


def e1_encoder():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0)

        def forward(self, x):
            return self.e(x, src_mask=torch.ones(x.shape[0], x.shape[0]).triu(1).bool())

    return M().eval()


def e1_view():
    class M(Layer):
        def forward(self, x):
            b, t, c = x.shape
            y = x.reshape(t, b, c).transpose(0, 1)
            query, key, value = self.projected(y)
            return self.mixed(attended(query, key, value)).transpose(0, 1).reshape(b, t, c)

    return M()


def e1_view2():
    class M(Layer):
        def forward(self, x):
            b, t, c = x.shape
            query, key, value = self.projected(x)
            o = self.mixed(attended(query, key, value, causal(t)))
            return o.transpose(0, 1).reshape(b, t, c)

    return M()


def e2_mha():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x, attention_mask):
            t = x.shape[1]
            h = ~attention_mask.bool()[:, None, :].expand(-1, t, -1)
            return self.a(x, x, x, attn_mask=h.repeat(4, 1, 1), need_weights=False)[0]

    return M().eval()


def e2_hand():
    class M(Layer):
        def forward(self, x, attention_mask):
            b, t, _ = x.shape
            query, key, value = (one.reshape(b * 4, t, 4) for one in self.projected(x))
            keep = (causal(t)[None] & attention_mask.bool()[:, None, :] | torch.eye(t).bool()).repeat(4, 1, 1)
            o = attended(query, key, value, keep)
            return self.mixed(o.view(b, 4, t, 4))

    return M()


def e3_mask():
    class M(Layer):
        def forward(self, x, attention_mask):
            query, key, value = self.projected(x)
            return self.mixed(attended(query, key, value, attention_mask.bool()[0][None, None, None, :]))

    return M()


def e3_pos():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, attention_mask):
            m = attention_mask.bool()
            pos = (m.long().cumsum(-1) - 1).clamp(min=0)
            x = x + self.p(pos[0])
            query, key, value = self.projected(x)
            keep = causal(x.shape[1]) & m[:, None, None, :] | torch.eye(x.shape[1]).bool()
            return self.mixed(attended(query, key, value, keep))

    return M()


def e4_cache():
    class M(Layer):
        def forward(self, x, cache=None):
            query, key, value = self.projected(x)
            n = query.shape[2]
            if cache is not None:
                key, value = torch.cat([cache[0].flip(0), key], 2), torch.cat([cache[1].flip(0), value], 2)
            t = key.shape[2]
            return self.mixed(attended(query, key, value, causal(n, t))), (key, value)

    return M()


def e4_first():
    class M(Layer):
        def step(self, x, cache):
            query, key, value = self.projected(x)
            n = query.shape[2]
            if cache:
                key, value = (
                    torch.cat([cache[0][:1].expand_as(cache[0]), key], 2),
                    torch.cat([cache[1][:1].expand_as(cache[1]), value], 2),
                )
            t = key.shape[2]
            return self.mixed(attended(query, key, value, causal(n, t))), (key, value)

    return M()


class Beamed(Layer):
    """Two layers with caches as (key, value); `forgets` says what is left as it is when rows change places."""

    def __init__(self, forgets="nothing"):
        super().__init__()
        self.second, self.forgets = Layer(), forgets

    def forward(self, x, cache=None):
        made = []
        for layer, past in zip((self, self.second), cache or (None, None), strict=True):
            query, key, value = layer.projected(x)
            if past is not None:
                key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
            made.append((key, value))
            x = x + layer.mixed(attended(query, key, value, causal(query.shape[2], key.shape[2])))
        return x, tuple(made)

    def reorder_cache(self, cache, beam_idx):
        first, second = cache
        if self.forgets == "all":
            return cache
        if self.forgets == "values":
            return tuple((key[beam_idx], value) for key, value in cache)
        taken = tuple(one[beam_idx] for one in first)
        return taken, second if self.forgets == "second" else tuple(one[beam_idx] for one in second)


class InPlace(Beamed):
    """The rows are put in order in a list of the target's own, by a method that wants them first."""

    def _reorder_past(self, beam_idx, past):
        return super().reorder_cache(past, beam_idx)

    reorder_cache = None


class Told(Beamed):
    """The order is an argument of the call."""

    def forward(self, x, cache=None, beam_idx=None):
        if cache is not None and beam_idx is not None and self.forgets != "all":
            cache = Beamed.reorder_cache(self, cache, beam_idx)
        return super().forward(x, cache)

    reorder_cache = None


class Inverse(Beamed):
    def reorder_cache(self, cache, beam_idx):
        return super().reorder_cache(cache, beam_idx.argsort())


def e4_beams_told():
    return Told("all")


def e4_beams_told_second():
    return Told("second")


def e4_beams_inverse():
    return Inverse()


def e4_beams_all():
    return Beamed("all")


def e4_beams_values():
    return Beamed("values")


def e4_beams_second():
    return InPlace("second")


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(e1_mha, "E1", graph="full()"),
    case(e1_encoder, "E1", graph="causal()"),
    case(e1_view, "E1", graph="full()"),
    case(e1_view2, "E1", graph="causal()"),
    case(e2_mha, "E2", graph="full()"),
    case(e2_hand, "E2", graph="causal()"),
    case(e3_mask, "E3", graph="full()"),
    case(e3_pos, "E3", graph="causal()"),
    case(e4_cache, "E4", graph="causal()"),
    case(e4_first, "E4", graph="causal()"),
    case(e4_beams_all, "E4", graph="causal()"),
    case(e4_beams_values, "E4", graph="causal()"),
    case(e4_beams_second, "E4", graph="causal()"),
    case(e4_beams_told, "E4", graph="causal()"),
    case(e4_beams_told_second, "E4", graph="causal()"),
    case(e4_beams_inverse, "E4", graph="causal()"),
]
ROUTES = {
    e2_hand: lambda route: route.mask in ("left", "right"),
    e3_pos: lambda route: route.mask == "left",
    e4_cache: lambda route: route.cached,
    e4_first: lambda route: route.cached,
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("batch-leak", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["batch-leak", kind])
    assert all(one.measured and one.expected for one in found["batch-leak", kind])


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)


@pytest.mark.parametrize("build", [Beamed, InPlace, Told])
def test_a_cache_that_is_reordered_everywhere_is_clean(named, build):
    assert not named(build(), graph="causal()")


def test_the_library_s_own_cache_is_reordered_too(monkeypatch):
    transformers = pytest.importorskip("transformers")
    from edgewise import check
    from edgewise.tracing import tiny_target

    model = tiny_target("gpt2").model
    assert check(model, only=["batch-leak"]).result("batch-leak").status == "pass"
    monkeypatch.setattr(transformers.cache_utils.DynamicLayer, "reorder_cache", lambda self, beam_idx: None)
    (finding,) = check(model, only=["batch-leak"]).failures
    assert finding.cause.kind == "E4"
    assert finding.cause.likely == "the reordering changes nothing"
    assert finding.cause.measured.startswith("after reorder_cache to [")
