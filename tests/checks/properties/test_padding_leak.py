"""Padding is read: on which routes, and why."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended

SIGHTS = [one.name for one in PROPERTIES[:7]]
"""The properties of who reads whom: of them one alone must speak."""
PROPERTY = next(one for one in PROPERTIES if one.name == "padding-leak")


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


class Ids(Layer):
    def __init__(self, pad, use):
        super().__init__()
        self.e = nn.Embedding(60, 16)
        self.pad = use
        self.config_pad = pad

    def forward(self, ids):
        x = self.e(ids)
        query, key, value = self.projected(x)
        keep = (ids != self.pad)[:, None, None, :]
        return self.mixed(scores(query, key).masked_fill(~keep, -1e30).softmax(-1) @ value)


def d1_never():
    return pad(lambda query, key, value, keep: F.scaled_dot_product_attention(query, key, value))


def d1_batch1():
    return pad(lambda query, key, value, keep: attended(query, key, value, keep if query.shape[0] > 1 else None))


def d1_cached():
    class M(Layer):
        def forward(self, x, attention_mask=None, cache=None):
            query, key, value = self.projected(x)
            n = query.shape[2]
            if cache is not None:
                key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
            t = key.shape[2]
            keep = torch.ones(n, t, dtype=torch.bool).tril(t - n)
            if attention_mask is not None and cache is None:
                keep = keep & attention_mask.bool()[:, None, None, :] | torch.eye(t).bool()
            return self.mixed(attended(query, key, value, keep)), (key, value)

    return M()


def d2_axis():
    class M(Layer):
        def forward(self, x, attention_mask):
            query, key, value = self.projected(x)
            s = scores(query, key).masked_fill(~attention_mask.bool()[:, None, :, None], -1e30)
            return self.mixed(s.softmax(-1) @ value)

    return M()


def d2_sdpa():
    class M(Layer):
        def forward(self, x, attention_mask):
            query, key, value = self.projected(x)
            return self.mixed(
                F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask.bool()[:, None, :, None])
            )

    return M()


def d3_side():
    return pad(lambda query, key, value, keep: attended(query, key, value, None if keep is None else keep.flip(-1)))


def d3_id():
    return Ids(1, 0)


def d3_id_ok():
    return Ids(1, 1)


def d3_lengths():
    class M(Layer):
        def forward(self, x, lengths):
            query, key, value = self.projected(x)
            keep = torch.arange(x.shape[1])[None] <= lengths[:, None]
            return self.mixed(attended(query, key, value, keep[:, None, None, :]))

    return M()


def d4_pool():
    class M(Layer):
        def forward(self, x, attention_mask):
            x = x - x.mean(1, keepdim=True)
            query, key, value = self.projected(x)
            return self.mixed(attended(query, key, value, attention_mask.bool()[:, None, None, :]))

    return M()


def d4_conv():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv1d(16, 16, 3, padding=1)

        def forward(self, x, attention_mask):
            query, key, value = self.projected(x)
            h = self.mixed(
                F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask.bool()[:, None, None, :])
            )
            return h + self.c(x.transpose(1, 2)).transpose(1, 2)

    return M()


def d4_gru():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.r = nn.GRU(16, 16, batch_first=True, bidirectional=False)

        def forward(self, x, attention_mask):
            x = self.r(x.flip(1))[0].flip(1)
            query, key, value = self.projected(x)
            return self.mixed(attended(query, key, value, attention_mask.bool()[:, None, None, :]))

    return M()


def d5_none():
    class M(Layer):
        def forward(self, x, memory, memory_mask=None):
            query, key, value = self.projected(x, memory)
            return self.mixed(F.scaled_dot_product_attention(query, key, value))

    return M()


def d5_td():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.d = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True)

        def forward(self, x, memory, memory_key_padding_mask=None):
            return self.d(x, memory)

    return M().eval()


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


WRONG = [
    case(d1_never, "D1", graph="full()"),
    case(d1_batch1, "D1", graph="full()"),
    case(d1_cached, "D1", graph="causal()"),
    case(d2_axis, "D2", graph="full()"),
    case(d2_sdpa, "D2", graph="full()"),
    case(d3_side, "D3", graph="full()"),
    case(d3_id, "D3", graph="full()", pad=1),
    case(d3_lengths, "D3", graph="full()"),
    case(d4_pool, "D4", graph="full()"),
    case(d4_conv, "D4", graph="full()"),
    case(d4_gru, "D4", graph="full()"),
    case(d5_none, "D5"),
    case(d5_td, "D5"),
]
RIGHT = [
    case(d3_id_ok, "", graph="full()", pad=1),
]
ROUTES = {
    d1_batch1: lambda route: route.batch == 1,
    d1_cached: lambda route: route.cached,
    d3_side: lambda route: route.mask in ("left", "right"),
    d4_gru: lambda route: route.mask == "right",
}
"""Which routes have the fault, where not all that can show it do."""


@pytest.mark.parametrize(("build", "kind", "declared"), WRONG)
def test_a_fault_is_named_on_the_routes_that_have_it(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == {("padding-leak", kind)}
    if build in ROUTES:
        assert all(ROUTES[build](one.route) for one in found["padding-leak", kind])
    assert all(one.measured and one.expected for one in found["padding-leak", kind])


@pytest.mark.parametrize(("build", "kind", "declared"), RIGHT)
def test_what_is_right_is_not_flagged(named, build, kind, declared):
    assert not named(build(), **declared)


def test_the_example_is_caught_and_its_mended_twin_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    found = named(broken.target, only=[PROPERTY.name], **broken.declared)
    assert {name for name, _ in found} == {PROPERTY.name}
    assert {kind for _, kind in found} <= set(PROPERTY.kinds)
    assert not named(right.target, **right.declared)


class Spoken(Layer):
    """A convolution before attention, and attention over sounds, of which there are more than tokens."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(16, 16, 3, padding=1)

    def forward(self, x, attention_mask=None):
        x = x + self.conv(x.mT).mT
        query, key, value = self.projected(x)
        keep = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        x = self.mixed(attended(query, key, value, keep))
        longer = self.projected(x.repeat_interleave(2, 1))
        return x, self.mixed(attended(*longer, None))


def test_a_convolution_that_reads_padding_is_told_from_a_mask_that_is_not_applied(named):
    assert set(named(Spoken(), only=SIGHTS, graph="full()")) == {("padding-leak", "D4")}


class Neighbours(Layer):
    """Each token beside the next one, and attention that hides padding."""

    def __init__(self, padding):
        super().__init__()
        self.embed = nn.Embedding(60, 16, padding_idx=padding)

    def forward(self, input_ids, attention_mask=None):
        x = self.embed(input_ids)
        query, key, value = self.projected(x + F.pad(x[:, 1:], (0, 0, 0, 1)))
        keep = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        return self.mixed(attended(query, key, value, keep))


def test_padding_that_is_read_as_nothing_is_no_leak(named):
    assert not named(Neighbours(0), only=SIGHTS, pad=0, graph="full()")
    assert set(named(Neighbours(None), only=SIGHTS, pad=0, graph="full()")) == {("padding-leak", "D4")}
