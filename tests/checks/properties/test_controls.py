"""What looks like a fault in who reads whom and is none: no property of the seven says a word."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

SIGHTS = [one.name for one in PROPERTIES[:7]]


def simple(attention):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x), x.shape[1]))

    return Simple()


def scores(query, key):
    return query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5


def dist(t):
    i = torch.arange(t)
    return i[:, None] - i[None]


def attended_pads():
    class M(Layer):
        def forward(self, x, attention_mask=None):
            q, k, v = self.projected(x)
            return self.mixed(attended(q, k, v))

    return M()


def prefix_ok():
    return simple(lambda q, k, v, t: attended(q, k, v, causal(t) | (torch.arange(t) < 3)[None]))


def sinks_ok():
    return simple(lambda q, k, v, t: attended(q, k, v, causal(t) & ((dist(t) < 3) | (torch.arange(t) < 1)[None])))


def learned_sinks():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.s = nn.Parameter(torch.randn(4))

        def forward(self, x):
            q, k, v = self.projected(x)
            t = x.shape[1]
            s = scores(q, k).masked_fill(~causal(t), float("-inf"))
            w = torch.cat([s, self.s[None, :, None, None].expand(x.shape[0], -1, t, 1)], -1).softmax(-1)[..., :-1]
            return self.mixed(w @ v)

    return M()


def f_bottom_right():
    def attn(q, k, v):
        n, m = q.shape[-2], k.shape[-2]
        keep = torch.ones(n, m).tril(m - n).bool()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    return attn


def f_topleft_undeclared():
    def attn(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    return attn


def encoder_pad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)

        def forward(self, x, src_key_padding_mask=None):
            return self.tokens(x, src_key_padding_mask=src_key_padding_mask)

    return M().eval()


def encoder_pad_plain():
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()


def decoder_layer():
    return nn.TransformerDecoderLayer(16, 4, 32, batch_first=True).eval()


def mha():
    return nn.MultiheadAttention(16, 4, batch_first=True, dropout=0.1).eval()


def mha_time_first():
    return nn.MultiheadAttention(16, 4, dropout=0.1).eval()


def static_cache():
    class M(Layer):
        def forward(self, x, cache=None):
            q, k, v = self.projected(x)
            n = q.shape[2]
            b = x.shape[0]
            if cache is None:
                cache = (torch.zeros(b, 4, 32, 4), torch.zeros(b, 4, 32, 4), 0)
            ks, vs, p = cache
            ks = ks.clone()
            vs = vs.clone()
            ks[:, :, p : p + n] = k
            vs[:, :, p : p + n] = v
            i = torch.arange(n) + p
            keep = torch.arange(32)[None] <= i[:, None]
            return self.mixed(attended(q, ks, vs, keep)), (ks, vs, p + n)

    return M()


def ring_cache():
    class M(Layer):
        def forward(self, x, cache=None):
            q, k, v = self.projected(x)
            n = q.shape[2]
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            t = k.shape[2]
            d = torch.arange(t)[-n:, None] - torch.arange(t)[None]
            return self.mixed(attended(q, k, v, (d >= 0) & (d < 3))), (k[:, :, -2:], v[:, :, -2:])

    return M()


def two_layer_window():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(
                [simple(lambda q, k, v, t: attended(q, k, v, (dist(t) >= 0) & (dist(t) < 3))) for _ in range(2)]
            )

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x

    return M()


def causal_conv():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv1d(16, 16, 3)

        def forward(self, x):
            q, k, v = self.projected(x)
            h = self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            return h + self.c(F.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)

    return M()


def window_plus_rnn():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.r = nn.GRU(16, 16, batch_first=True)

        def forward(self, x):
            q, k, v = self.projected(x)
            t = x.shape[1]
            h = self.mixed(attended(q, k, v, (dist(t) >= 0) & (dist(t) < 3)))
            return h + self.r(x)[0]

    return M()


def batchnorm():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.b = nn.BatchNorm1d(16)

        def forward(self, x):
            q, k, v = self.projected(x)
            h = self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            return self.b(h.transpose(1, 2)).transpose(1, 2)

    return M()


def lm_f32():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(50, 32)
            self.p = nn.Embedding(64, 32)
            self.layers = nn.ModuleList([Layer(32, 4) for _ in range(3)])
            self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(3)])
            self.head = nn.Linear(32, 50)

        def forward(self, idx):
            x = self.tokens(idx) + self.p(torch.arange(idx.shape[1]))
            for layer, norm in zip(self.layers, self.norms, strict=True):
                q, k, v = layer.projected(norm(x))
                x = x + layer.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            return self.head(x)

    return M().float()


def bert_fill_1e4():
    class M(Layer):
        def forward(self, x, attention_mask):
            q, k, v = self.projected(x)
            t = x.shape[1]
            m = (1 - (causal(t) & attention_mask.bool()[:, None, None, :]).to(x.dtype)) * -10000.0
            return self.mixed((scores(q, k) + m).softmax(-1) @ v)

    return M()


def fill_1e9():
    class M(Layer):
        def forward(self, x, attention_mask):
            q, k, v = self.projected(x)
            return self.mixed(scores(q, k).masked_fill(attention_mask[:, None, None, :] == 0, -1e9).softmax(-1) @ v)

    return M()


def alibi():
    class M(Layer):
        def forward(self, x):
            q, k, v = self.projected(x)
            t = x.shape[1]
            b = -dist(t).abs() * torch.tensor([0.5, 0.25, 0.125, 0.0625])[:, None, None]
            return self.mixed((scores(q, k) + b).masked_fill(~causal(t), float("-inf")).softmax(-1) @ v)

    return M()


def linear_attention():
    class M(Layer):
        def forward(self, x):
            q, k, v = self.projected(x)
            q, k = F.elu(q) + 1, F.elu(k) + 1
            kv = torch.einsum("bhtd,bhte->bhtde", k, v).cumsum(2)
            z = k.cumsum(2)
            return self.mixed(torch.einsum("bhtd,bhtde->bhte", q, kv) / (q * z).sum(-1, keepdim=True))

    return M()


def mean_pool_mask():
    class M(Layer):
        def forward(self, x, attention_mask):
            m = attention_mask.bool()
            q, k, v = self.projected(x)
            h = self.mixed(attended(q, k, v, m[:, None, None, :]))
            return h + ((x * m[..., None]).sum(1) / m.sum(1, keepdim=True))[:, None]

    return M()


def cross_masked():
    class M(Layer):
        def forward(self, x, memory, memory_mask=None):
            q, k, v = self.projected(x, memory)
            keep = None if memory_mask is None else memory_mask.bool()[:, None, None, :]
            return self.mixed(attended(q, k, v, keep))

    return M()


def encdec():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)

        def forward(self, src, tgt):
            return self.t(
                src, tgt, tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt.shape[1]), tgt_is_causal=True
            )

    return M().eval()


def sdpa_mask_arg():
    class M(Layer):
        def forward(self, x, attn_mask=None):
            q, k, v = self.projected(x)
            return self.mixed(
                F.scaled_dot_product_attention(
                    q, k, v, attn_mask=attn_mask if attn_mask is not None else causal(x.shape[1])
                )
            )

    return M()


def left_pad_positions():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, attention_mask):
            m = attention_mask.bool()
            pos = (m.long().cumsum(-1) - 1).clamp(min=0)
            x = x + self.p(pos)
            t = x.shape[1]
            q, k, v = self.projected(x)
            return self.mixed(attended(q, k, v, causal(t) & m[:, None, None, :] | torch.eye(t).bool()))

    return M()


def chunk_cached():
    class M(Layer):
        def forward(self, x, cache=None):
            q, k, v = self.projected(x)
            n = q.shape[2]
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            t = k.shape[2]
            i = torch.arange(t)[-n:, None]
            j = torch.arange(t)[None]
            return self.mixed(attended(q, k, v, (j <= i) & (i // 3 == j // 3))), (k, v)

    return M()


def moe():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.r = nn.Linear(16, 2)
            self.tokens = nn.ModuleList([nn.Linear(16, 16) for _ in range(2)])

        def forward(self, x):
            q, k, v = self.projected(x)
            h = x + self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            w = self.r(h).argmax(-1, keepdim=True)
            return torch.where(w == 0, self.tokens[0](h), self.tokens[1](h))

    return M()


def unpad():
    class M(Layer):
        def forward(self, x, cu_seqlens):
            out = torch.empty_like(x)
            for a, b in zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist(), strict=True):
                q, k, v = self.projected(x[:, a:b])
                out[:, a:b] = self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            return out

    return M()


def case(build, **declared):
    return pytest.param(build, declared, id=build.__name__)


CASES = [
    case(attended_pads, graph="full()", pads_attended=True),
    case(prefix_ok, graph="prefix(3)"),
    case(sinks_ok, graph="causal() & (window(3) | keys([1,0,0,0,0,0,0,0]))"),
    case(learned_sinks),
    case(f_bottom_right, graph="causal()"),
    case(f_topleft_undeclared),
    case(encoder_pad, graph="full()"),
    case(encoder_pad_plain),
    case(decoder_layer),
    case(mha),
    case(mha_time_first, layout="time first"),
    case(static_cache, graph="causal()"),
    case(ring_cache, graph="window(3)"),
    case(two_layer_window, graph="window(3)"),
    case(causal_conv, graph="causal()"),
    case(window_plus_rnn, graph="window(3)"),
    case(batchnorm),
    case(lm_f32, graph="causal()"),
    case(bert_fill_1e4, graph="causal()"),
    case(fill_1e9, graph="full()"),
    case(alibi, graph="causal()"),
    case(linear_attention),
    case(mean_pool_mask),
    case(cross_masked),
    case(encdec),
    case(sdpa_mask_arg, graph="causal()"),
    case(left_pad_positions, graph="causal()"),
    case(chunk_cached, graph="causal() & chunks(3)"),
    case(moe),
    case(unpad, graph="causal()"),
]


@pytest.mark.parametrize(("build", "declared"), CASES)
def test_what_is_meant_is_never_flagged(observed, build, declared):
    assert not observed(build(), only=SIGHTS, **declared)


def test_a_causal_model_that_ignores_its_padding_mask_is_doubted_on_the_left_alone(observed):
    class Ignoring(Layer):
        def forward(self, x, attention_mask=None):
            return self.mixed(F.scaled_dot_product_attention(*self.projected(x), is_causal=True))

    found = observed(Ignoring(), only=SIGHTS)
    assert found
    assert all(one.warning and one.route.mask == "left" for one in found)
    assert "right for padding on the right of a causal model" in found[0].likely
