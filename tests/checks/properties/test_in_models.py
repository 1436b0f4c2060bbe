"""The same faults in whole models of several layers, in loops, in functions and in torch's own layers."""

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

SIGHTS = [one.name for one in PROPERTIES[:7]]
FAMILIES = dict(
    zip(
        "ABCDEFG",
        (
            "future-leak",
            "lost-visibility",
            "wrong-pattern",
            "padding-leak",
            "batch-leak",
            "packing-leak",
            "mask-meaning",
        ),
        strict=True,
    )
)


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


class Loop(Layer):
    def forward(self, x):
        q, k, v = self.projected(x)
        t = x.shape[1]
        outs = []
        for i in range(t):
            lo, hi = self.span(i, t)
            keys, values = k[:, :, lo:hi], v[:, :, lo:hi]
            outs.append(((q[:, :, i : i + 1] @ keys.transpose(-2, -1)) * 0.5).softmax(-1) @ values)
        return self.mixed(torch.cat(outs, 2))


def loop(f):
    m = Loop()
    m.span = f
    return m


def loop_ahead():
    return loop(lambda i, t: (0, min(i + 2, t)))


def loop_all():
    return loop(lambda i, t: (0, t))


def loop_window():
    return loop(lambda i, t: (max(0, i - 3), i + 1))


def loop_window_off():
    return loop(lambda i, t: (0, i + 1))


def loop_ok():
    return loop(lambda i, t: (max(0, i - 2), i + 1))


class LM(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.tokens = nn.Embedding(64, 32)
        self.p = nn.Embedding(64, 32)
        self.layers = nn.ModuleList([Layer(32, 4) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(layers)])
        self.feeds = nn.ModuleList(
            [nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(layers)]
        )
        self.head = nn.Linear(32, 64)

    def run(self, x, att):
        for i, (layer, norm, feed) in enumerate(zip(self.layers, self.norms, self.feeds, strict=True)):
            q, k, v = layer.projected(norm(x))
            x = x + layer.mixed(att(i, q, k, v))
            x = x + feed(norm(x))
        return self.head(x)


def lm(att, f32=True):
    class M(LM):
        def forward(self, idx):
            return self.run(self.tokens(idx) + self.p(torch.arange(idx.shape[1])), att)

    m = M()
    return m.float() if f32 else m


def lm_leak_one_layer():
    return lm(lambda i, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=i != 1))


def lm_window_one_layer():
    return lm(lambda i, q, k, v: attended(q, k, v, (dist(q.shape[2]) >= 0) & (dist(q.shape[2]) < (4 if i == 1 else 3))))


def lm_window_all():
    return lm(lambda i, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))


def lm_diag():
    return lm(
        lambda i, q, k, v: F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=causal(q.shape[2]) & ~torch.eye(q.shape[2]).bool()
            | (torch.eye(q.shape[2]).bool() & (torch.arange(q.shape[2]) == 0)),
        )
    )


def lm_polarity():
    return lm(lambda i, q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=~causal(q.shape[2])))


def lm_weak():
    return lm(lambda i, q, k, v: (scores(q, k) + (~causal(q.shape[2])).to(q) * -30).softmax(-1) @ v)


def lm_noop():
    def att(i, q, k, v):
        s = scores(q, k)
        s.masked_fill(~causal(q.shape[2]), float("-inf"))
        return F.softmax(s, dim=-1) @ v

    return lm(att)


def lm_head_leak():
    def att(i, q, k, v):
        m = causal(q.shape[2])[None].repeat(4, 1, 1)
        m[2] = True
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m)

    return lm(att)


def lmm(att, pos=True):
    class M(LM):
        def forward(self, input_ids, attention_mask=None):
            m = torch.ones_like(input_ids).bool() if attention_mask is None else attention_mask.bool()
            p = (m.long().cumsum(-1) - 1).clamp(min=0)
            return self.run(self.tokens(input_ids) + self.p(p), lambda i, q, k, v: att(i, q, k, v, m))

    return M().float()


def safe(keep):
    return keep | torch.eye(keep.shape[-1]).bool()


def lmm_ok():
    return lmm(lambda i, q, k, v, m: attended(q, k, v, safe(causal(q.shape[2]) & m[:, None, None])))


def lmm_d1_layer():
    return lmm(
        lambda i, q, k, v, m: attended(
            q, k, v, safe(causal(q.shape[2]) & m[:, None, None]) if i != 1 else causal(q.shape[2])
        )
    )


def lmm_d1_enc():
    return lmm(lambda i, q, k, v, m: attended(q, k, v, m[:, None, None] if i != 2 else None))


def lmm_d2():
    return lmm(
        lambda i, q, k, v, m: scores(q, k).masked_fill(~m[:, None, :, None], torch.finfo(q.dtype).min).softmax(-1) @ v
    )


def lmm_e2():
    def att(i, q, k, v, m):
        b, h, t, d = q.shape
        keep = m[:, None, :].expand(b, t, t).repeat(h, 1, 1)
        q, k, v = (one.reshape(b * h, t, d) for one in (q, k, v))
        w = (torch.bmm(q, k.transpose(1, 2)) * d**-0.5).masked_fill(~keep, torch.finfo(q.dtype).min).softmax(-1)
        return torch.bmm(w, v).view(b, h, t, d)

    return lmm(att)


def lmm_e2_ok():
    def att(i, q, k, v, m):
        b, h, t, d = q.shape
        keep = m[:, None, :].expand(b, t, t).repeat_interleave(h, 0)
        q, k, v = (one.reshape(b * h, t, d) for one in (q, k, v))
        w = (torch.bmm(q, k.transpose(1, 2)) * d**-0.5).masked_fill(~keep, torch.finfo(q.dtype).min).softmax(-1)
        return torch.bmm(w, v).view(b, h, t, d)

    return lmm(att)


def lmm_e3():
    return lmm(lambda i, q, k, v, m: attended(q, k, v, m[:1, None, None]))


def lmm_g1():
    return lmm(lambda i, q, k, v, m: scores(q, k).masked_fill(m[:, None, None], -1e4).softmax(-1) @ v)


def lmm_g4():
    return lmm(
        lambda i, q, k, v, m: F.scaled_dot_product_attention(
            q, k, v, attn_mask=m[:, None, None].to(q).expand(-1, -1, q.shape[2], -1)
        )
    )


def lmm_g3():
    def att(i, q, k, v, m):
        add = (1 - m[:, None, None].to(q)) * torch.tensor(-1e9).to(q.dtype)
        return (scores(q, k) + add).softmax(-1) @ v

    return lmm(att)


def lmm_d4():
    class M(LM):
        def forward(self, input_ids, attention_mask=None):
            m = torch.ones_like(input_ids).bool() if attention_mask is None else attention_mask.bool()
            x = self.tokens(input_ids)
            x = x + x.mean(1, keepdim=True)
            return self.run(x, lambda i, q, k, v: attended(q, k, v, m[:, None, None]))

    return M().float()


def lm_blockmean():
    class M(LM):
        def forward(self, idx):
            x = self.tokens(idx)
            b, t, c = x.shape
            n = t // 2 * 2
            mean = x[:, :n].view(b, n // 2, 2, c).mean(2, keepdim=True).expand(-1, -1, 2, -1).reshape(b, n, c)
            x = x + F.pad(mean, (0, 0, 0, t - n))
            return self.run(x, lambda i, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))

    return M().float()


def f_mask_pol():
    def attn(q, k, v):
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.ones(q.shape[-2], k.shape[-2]).triu(1 + k.shape[-2] - q.shape[-2]).bool()
        )

    return attn


def f_none():
    def attn(q, k, v):
        return scores(q, k).softmax(-1) @ v

    return attn


def f_win():
    def attn(q, k, v):
        d = torch.arange(k.shape[-2])[-q.shape[-2] :, None] - torch.arange(k.shape[-2])[None]
        return attended(q, k, v, (d >= 0) & (d <= 3))

    return attn


def f_diag():
    def attn(q, k, v):
        n, m = q.shape[-2], k.shape[-2]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(n, m).tril(m - n - 1).bool())

    return attn


def f_weak():
    def attn(q, k, v):
        n, m = q.shape[-2], k.shape[-2]
        return scores(q, k).masked_fill(~torch.ones(n, m).tril(m - n).bool(), -5.0).softmax(-1) @ v

    return attn


def enc_kpm():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0), 2, enable_nested_tensor=False
            )

        def forward(self, x, mask):
            return self.tokens(x, src_key_padding_mask=mask.bool())

    return M()


def enc_none():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0), 2, enable_nested_tensor=False
            )

        def forward(self, x, mask):
            return self.tokens(x)

    return M()


def enc_causal():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0), 2, enable_nested_tensor=False
            )

        def forward(self, x):
            return self.tokens(x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]), is_causal=True)

    return M()


def image_block():
    return simple(lambda q, k, v, t: attended(q, k, v, causal(t)))


def sink_lost():
    return simple(lambda q, k, v, t: attended(q, k, v, (dist(t) >= 0) & (dist(t) < 3)))


def eval_train():
    class M(Layer):
        def forward(self, x):
            q, k, v = self.projected(x)
            return self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=self.training))

    return M()


def cache_roll():
    class M(Layer):
        def forward(self, x, cache=None):
            q, k, v = self.projected(x)
            n = q.shape[2]
            if cache is not None:
                k, v = torch.cat([cache[0].roll(1, 0), k], 2), torch.cat([cache[1], v], 2)
            return self.mixed(attended(q, k, v, causal(n, k.shape[2]))), (k, v)

    return M()


def cache_buffer():
    class M(Layer):
        def forward(self, x, cache=None):
            q, k, v = self.projected(x)
            n = q.shape[2]
            if cache is not None:
                k, v = (
                    torch.cat([cache[0].expand(x.shape[0], -1, -1, -1), k], 2),
                    torch.cat([cache[1].expand(x.shape[0], -1, -1, -1), v], 2),
                )
            return self.mixed(attended(q, k, v, causal(n, k.shape[2]))), (k[:1], v[:1])

    return M()


def cu_ignored():
    class M(Layer):
        def forward(self, x, cu_seqlens):
            q, k, v = self.projected(x)
            return self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))

    return M()


def cu_last():
    class M(Layer):
        def forward(self, x, cu_seqlens):
            c = [*cu_seqlens[:-2].tolist(), x.shape[1]] if len(cu_seqlens) > 2 else cu_seqlens.tolist()
            out = torch.zeros_like(x)
            for a, b in pairwise(c):
                q, k, v = self.projected(x[:, a:b])
                out[:, a:b] = self.mixed(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            return out

    return M()


def docs_pos():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, doc):
            x = x + self.p(torch.arange(x.shape[1]))
            q, k, v = self.projected(x)
            return self.mixed(
                attended(q, k, v, (causal(x.shape[1])[None] & (doc[:, :, None] == doc[:, None]))[:, None])
            )

    return M()


def pos_first():
    class M(Layer):
        def __init__(self):
            super().__init__()
            self.p = nn.Embedding(40, 16)

        def forward(self, x, pos):
            x = x + self.p(pos[0])
            q, k, v = self.projected(x)
            d = (pos == 0).cumsum(-1)
            return self.mixed(attended(q, k, v, (causal(x.shape[1])[None] & (d[:, :, None] == d[:, None]))[:, None]))

    return M()


def memory_own_mask():
    class M(Layer):
        def forward(self, x, memory, mask, memory_mask):
            q, k, v = self.projected(x, memory)
            n = memory.shape[1] - x.shape[1]
            m = F.pad(mask.bool(), (0, n), value=True)
            return self.mixed(attended(q, k, v, m[:, None, None]))

    return M()


def memory_short():
    class M(Layer):
        def forward(self, x, memory):
            q, k, v = self.projected(x, memory)
            keep = torch.ones(x.shape[1], memory.shape[1]).tril(memory.shape[1] - x.shape[1]).bool()
            return self.mixed(attended(q, k, v, keep))

    return M()


def case(build, kind, **declared):
    return pytest.param(build, kind, declared, id=f"{kind or 'right'} {build.__name__}")


CASES = [
    case(loop_ahead, "A2", graph="causal()"),
    case(loop_all, "A1", graph="causal()"),
    case(loop_window, "C1", graph="window(3)"),
    case(loop_window_off, "C2", graph="window(3)"),
    case(loop_ok, "", graph="window(3)"),
    case(lm_leak_one_layer, "A1", graph="causal()"),
    case(lm_window_one_layer, "C1", graph="window(3)"),
    case(lm_window_all, "C2", graph="window(3)"),
    case(lm_diag, "B2", graph="causal()"),
    case(lm_polarity, "G1", graph="causal()"),
    case(lm_weak, "G2", graph="causal()"),
    case(lm_noop, "G5", graph="causal()"),
    case(lm_head_leak, "A1", graph="causal()"),
    case(lmm_ok, "", graph="causal()"),
    case(lmm_d1_layer, "D1", graph="causal()"),
    case(lmm_d1_enc, "D1", graph="full()"),
    case(lmm_d2, "D2", graph="full()"),
    case(lmm_e2, "E2", graph="full()"),
    case(lmm_e2_ok, "", graph="full()"),
    case(lmm_e3, "E3", graph="full()"),
    case(lmm_g1, "G1", graph="full()"),
    case(lmm_g4, "G4", graph="full()"),
    case(lmm_g3, "G3", graph="full()"),
    case(lmm_d4, "D4", graph="full()"),
    case(lm_blockmean, "A3"),
    case(f_mask_pol, "G1", graph="causal()"),
    case(f_none, "A1", graph="causal()"),
    case(f_win, "C1", graph="window(3)"),
    case(f_diag, "B2", graph="causal()"),
    case(f_weak, "G2", graph="causal()"),
    case(enc_kpm, "G1", graph="full()"),
    case(enc_none, "D1", graph="full()"),
    case(enc_causal, "B3", graph="full()"),
    case(image_block, "C4", graph="causal() | documents([0,1,1,1,0,0,0,0]) & keys([0,1,1,1,0,0,0,0])"),
    case(sink_lost, "C4", graph="causal() & (window(3) | keys([1,0,0,0,0,0,0,0]))"),
    case(eval_train, "A1", graph="causal()"),
    case(cache_roll, "E4", graph="causal()"),
    case(cache_buffer, "E4", graph="causal()"),
    case(cu_ignored, "F1", graph="causal()"),
    case(cu_last, "F2", graph="causal()"),
    case(docs_pos, "F3", graph="causal()"),
    case(pos_first, "E3", graph="causal()"),
    case(memory_own_mask, "D5", graph="full()"),
    case(memory_short, "B3", graph="full()"),
]


@pytest.mark.parametrize(("build", "kind", "declared"), CASES)
def test_a_fault_has_one_name_wherever_it_is_and_what_is_right_has_none(named, build, kind, declared):
    found = named(build(), only=SIGHTS, **declared)
    assert set(found) == ({(FAMILIES[kind[0]], kind)} if kind else set())
