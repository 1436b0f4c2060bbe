"""Right models in which attention is written out, each line a place where people go wrong; mutations.py breaks them.

Only what stands between the marks `# attention` and `# end` is broken, so that every change is one of attention's.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

__all__ = ["MODELS"]


class Causal(nn.Module):
    """A causal layer with padding and a cache, by hand."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x, attention_mask=None, cache=None):
        batch, new, _ = x.shape
        # attention
        q = self.query(x).view(batch, new, 4, 4).transpose(1, 2)
        k = self.key(x).view(batch, new, 4, 4).transpose(1, 2)
        v = self.value(x).view(batch, new, 4, 4).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        past = k.size(2) - new
        scores = q @ k.transpose(-2, -1) * 4**-0.5
        keep = torch.ones(new, k.size(2), dtype=torch.bool).tril(past)
        if attention_mask is not None:
            own = torch.ones_like(keep).tril(past).triu(past)
            keep = keep & attention_mask.bool()[:, None, None, :] | own
        weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
        out = (weights @ v).transpose(1, 2).reshape(batch, new, 16)
        # end
        return x + self.out(out), (k, v)


class Fused(nn.Module):
    """A causal layer with padding, by torch's fused function or by hand."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x, mask=None, fused=True):
        # attention
        q, k, v = (one.unflatten(-1, (4, 4)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        keep = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        if mask is not None:
            keep = keep & mask.bool()[:, None, None, :] | torch.eye(x.size(1), dtype=torch.bool)
        if fused:
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        else:
            out = (q @ k.transpose(-2, -1) / math.sqrt(4)).masked_fill(~keep, -1e30).softmax(-1) @ v
        out = out.transpose(1, 2).flatten(-2)
        # end
        return x + self.out(out)


class Window(nn.Module):
    """A causal window of three keys, and no residual."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        # attention
        q, k, v = (one(x).unflatten(-1, (4, 4)).transpose(1, 2) for one in (self.query, self.key, self.value))
        place = torch.arange(x.size(1))
        far = place[:, None] - place[None, :]
        keep = (far >= 0) & (far < 3)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / 2
        weights = F.softmax(scores.masked_fill(~keep, float("-inf")), dim=-1)
        out = torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2)
        # end
        return self.out(out)


class Rotary(nn.Module):
    """Grouped heads, rotary positions and a cache."""

    def __init__(self):
        super().__init__()
        self.q_proj, self.o_proj = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        self.k_proj, self.v_proj = nn.Linear(16, 8, bias=False), nn.Linear(16, 8, bias=False)

    def forward(self, x, past_key_values=None):
        batch, new, _ = x.shape
        past = 0 if past_key_values is None else past_key_values[0].size(2)
        # attention
        q = self.q_proj(x).view(batch, new, 4, 4).transpose(1, 2)
        k = self.k_proj(x).view(batch, new, 2, 4).transpose(1, 2)
        v = self.v_proj(x).view(batch, new, 2, 4).transpose(1, 2)
        rate = 10000.0 ** (-torch.arange(0, 4, 2) / 4)
        angle = (torch.arange(past, past + new)[:, None] * rate).to(x.dtype)
        cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
        q = q * cos + torch.cat([-q[..., 2:], q[..., :2]], -1) * sin
        k = k * cos + torch.cat([-k[..., 2:], k[..., :2]], -1) * sin
        if past_key_values is not None:
            k, v = torch.cat([past_key_values[0], k], 2), torch.cat([past_key_values[1], v], 2)
        wide_k, wide_v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        keep = torch.ones(new, k.size(2), dtype=torch.bool).tril(k.size(2) - new)
        scores = (q @ wide_k.transpose(-2, -1) / 4**0.5).masked_fill(~keep, -1e30)
        out = (scores.softmax(-1) @ wide_v).transpose(1, 2).flatten(-2)
        # end
        return x + self.o_proj(out), (k, v)


class Encoder(nn.Module):
    """A two-way layer with padding and the weights where they are asked for."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x, mask=None, need_weights=False):
        # attention
        q, k, v = (one(x).unflatten(-1, (4, 4)).transpose(1, 2) for one in (self.query, self.key, self.value))
        keep = None if mask is None else mask.bool()[:, None, None, :]
        if need_weights:
            scores = q @ k.transpose(-2, -1) * 0.5
            if keep is not None:
                scores = scores.masked_fill(~keep, float("-inf"))
            weights = scores.softmax(-1)
            out = weights @ v
        else:
            weights = None
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        out = out.transpose(1, 2).reshape(x.shape)
        # end
        return self.out(out), weights


class Packed(nn.Module):
    """Documents packed in a row, told by their ids."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x, document_ids):
        # attention
        q, k, v = (one(x).unflatten(-1, (4, 4)).transpose(1, 2) for one in (self.query, self.key, self.value))
        same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
        keep = same & torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        out = out.transpose(1, 2).reshape(x.shape)
        # end
        return x + self.out(out)


class Slopes(nn.Module):
    """A causal layer whose scores fall with distance."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        # attention
        q, k, v = (one(x).unflatten(-1, (4, 4)).transpose(1, 2) for one in (self.query, self.key, self.value))
        place = torch.arange(x.size(1))
        far = (place[:, None] - place[None, :]).to(x.dtype)
        slope = (2.0 ** (-2.0 * torch.arange(1, 5)))[:, None, None].to(x.dtype)
        scores = q @ k.transpose(-2, -1) / 2 - slope * far
        weights = scores.masked_fill(far < 0, float("-inf")).softmax(-1)
        out = (weights @ v).transpose(1, 2).flatten(-2)
        # end
        return x + self.out(out)


class Cross(nn.Module):
    """A decoder layer that reads a memory with padding."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x, memory, memory_mask=None):
        # attention
        q = self.query(x).unflatten(-1, (4, 4)).transpose(1, 2)
        k = self.key(memory).unflatten(-1, (4, 4)).transpose(1, 2)
        v = self.value(memory).unflatten(-1, (4, 4)).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        if memory_mask is not None:
            scores = scores.masked_fill(~memory_mask.bool()[:, None, None, :], float("-inf"))
        out = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        # end
        return x + self.out(out)


class Language(nn.Module):
    """A language model with learned positions that know of padding, and two layers."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(40, 16), nn.Embedding(64, 16)
        self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))
        self.head = nn.Linear(16, 40)

    def forward(self, input_ids, attention_mask=None):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        # attention
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        x = torch.add(self.tokens(input_ids), self.places(places))
        keep = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril() & mask.bool()[:, None, None, :]
        bias = torch.zeros(keep.shape, dtype=x.dtype).masked_fill(~keep, torch.finfo(x.dtype).min)
        for qkv, out in zip(self.qkv, self.out, strict=True):
            q, k, v = (one.unflatten(-1, (4, 4)).transpose(1, 2) for one in qkv(x).split(16, -1))
            weights = (q @ k.transpose(-2, -1) * 4**-0.5 + bias).softmax(-1)
            x = torch.add(x, out((weights @ v).transpose(1, 2).reshape(x.shape)))
        # end
        return self.head(x)


def function(q, k, v):
    """Attention as a function, with grouped heads and a causal mask aligned at the end."""
    # attention
    times = q.size(1) // k.size(1)
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    scores = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
    keep = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril(k.size(-2) - q.size(-2))
    weights = scores.masked_fill(~keep, -1e30).softmax(-1)
    out = (weights @ v).to(v.dtype)
    # end
    return out.contiguous()


MODELS = {
    "Causal": {"graph": "causal()"},
    "Fused": {"graph": "causal()"},
    "Window": {"graph": "window(3)"},
    "Rotary": {"graph": "causal()"},
    "Encoder": {"graph": "full()"},
    "Packed": {"graph": "causal()"},
    "Slopes": {"graph": "causal()"},
    "Cross": {},
    "Language": {"graph": "causal()", "positions": True},
    "function": {"graph": "causal()"},
}
"""Their names, and what is declared of each."""
