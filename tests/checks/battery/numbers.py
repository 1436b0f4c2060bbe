"""Right targets whose numbers look wrong: rounded, scaled by design, learning as they read, or no softmax at all."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import HEADS, Projections, by_hand, case, merge, split, trap, triangle
from edgewise import causal


@trap(graph=causal())
def softmax_in_float32_whatever_the_input():
    def attention(q, k, v):
        scores = q.float() @ k.float().transpose(-2, -1) * q.size(-1) ** -0.5
        keep = triangle(q.size(-2), k.size(-2))
        return (scores.masked_fill(~keep, -1e30).softmax(-1) @ v.float()).to(q.dtype)

    return attention


@trap(graph=causal())
def weights_in_bfloat16():
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            scores = (q @ k.transpose(-2, -1) / 2).masked_fill(~triangle(x.size(1)), float("-inf"))
            return x + self.out(merge(scores.softmax(-1, dtype=torch.float32).to(q.dtype) @ v))

    return Layer().to(torch.bfloat16)


@trap(graph=causal())
def bfloat16_that_counts_positions_from_a_mask():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.places = nn.Embedding(20, 16), nn.Embedding(32, 16)
            self.layer, self.head = Projections(), nn.Linear(16, 20)

        def forward(self, input_ids, position_ids=None):
            if position_ids is None:
                position_ids = torch.arange(input_ids.size(1))[None]
            x = self.embed(input_ids) + 0.01 * self.places(position_ids)
            return self.head(x + self.layer.out(merge(by_hand(*self.layer.qkv(x), triangle(x.size(1))))))

    return Model().to(torch.bfloat16)


@trap(graph=causal())
def keys_kept_in_few_steps():
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            k, v = (k * 256).round() / 256, (v * 256).round() / 256
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)))))

    return Layer()


@trap()
def scaled_by_the_logarithm_of_the_length():
    class Layer(Projections):
        def forward(self, x):
            scale = 0.7 * math.log(max(2, x.size(1))) / 4
            return self.out(merge(by_hand(*self.qkv(x), scale=scale)))

    return Layer()


@case("scale", "I1")
def scaled_by_the_root_of_the_length(ok):
    class Layer(Projections):
        def forward(self, x):
            return self.out(merge(by_hand(*self.qkv(x), scale=0.5 if ok else x.size(1) ** -0.5)))

    return Layer()


@case("scale", "I1", "I2", "I3", graph=causal(), sinks=True)
def a_sigmoid_for_each_key(ok):
    def attention(q, k, v):
        scores = q @ k.transpose(-2, -1) * (q.size(-1) ** -0.5 if ok else 1 / q.size(-1)) - math.log(k.size(-2))
        return scores.sigmoid().masked_fill(~triangle(q.size(-2), k.size(-2)), 0) @ v

    return attention


@trap()
def batch_statistics_in_training():
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(16)

        def forward(self, x):
            x = self.norm(x.transpose(1, 2)).transpose(1, 2)
            return self.out(merge(by_hand(*self.qkv(x))))

    return Layer()


@trap()
def a_norm_that_is_estimated_in_training():
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            nn.utils.parametrizations.spectral_norm(self.query)

        def forward(self, x):
            return self.out(merge(by_hand(*self.qkv(x))))

    return Layer()


@trap(graph=causal())
def linear_attention_by_sums():
    def attention(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = torch.einsum("bhtd,bhte->bhtde", k, v).cumsum(2)
        whole = torch.einsum("bhtd,bhtd->bht", q, k.cumsum(2))
        return torch.einsum("bhtd,bhtde->bhte", q, sums) / whole[..., None]

    return attention


@case("position", "K5")
def distances_that_queries_weigh(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.steps = nn.Embedding(5, self.channels // HEADS)

        def forward(self, x):
            q, k, v = self.qkv(x)
            at = torch.arange(x.size(1))
            apart = (at[None] - (at if ok else at.flip(0))[:, None]).clamp(-2, 2) + 2
            scores = q @ k.transpose(-2, -1) + torch.einsum("bhid,ijd->bhij", q, self.steps(apart))
            return self.out(merge((scores / 2).softmax(-1) @ v))

    return Layer()


@trap()
def keys_and_values_of_other_widths():
    return nn.MultiheadAttention(16, 4, kdim=12, vdim=20, batch_first=True)


@trap()
def a_memory_of_another_width():
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = nn.Linear(16, 16), nn.Linear(12, 16), nn.Linear(12, 16)

        def forward(self, hidden_states, encoder_hidden_states):
            q = split(self.query(hidden_states), HEADS)
            k, v = (split(one(encoder_hidden_states), HEADS) for one in (self.key, self.value))
            return merge(by_hand(q, k, v))

    return Cross()


@trap()
def ids_are_decoded_from_ids():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.own, self.cross = nn.Embedding(20, 16), Projections(), Projections()
            self.head = nn.Linear(16, 20)

        def forward(self, src, tgt, src_mask=None):
            keep = None if src_mask is None else src_mask.bool()[:, None, None, :]
            memory, x = self.embed(src), self.embed(tgt)
            x = x + self.own.out(merge(by_hand(*self.own.qkv(x), triangle(x.size(1)))))
            return self.head(x + self.cross.out(merge(by_hand(*self.cross.qkv(x, memory), keep))))

    return Model()
