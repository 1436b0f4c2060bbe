"""J: heads that are split, merged or shared wrongly."""

import torch.nn.functional as F
from torch import nn

from battery.case import HEADS, Projections, by_hand, case, merge, split, triangle
from edgewise import causal


@case("head-mapping", "J1", graph=causal(), other=("future-leak",))
def split_by_a_view_alone(ok):
    class Layer(Projections):
        def forward(self, x):
            batch, tokens, _ = x.shape

            def heads(one):
                return split(one, HEADS) if ok else one.view(batch, HEADS, tokens, -1)

            q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
            return self.out(merge(by_hand(q, k, v, triangle(tokens))))

    return Layer()


@case("head-mapping", "J2", graph=causal(), other=("future-leak",))
def merged_by_a_view_alone(ok):
    class Layer(Projections):
        def forward(self, x):
            out = F.scaled_dot_product_attention(*self.qkv(x), is_causal=True)
            return self.out(merge(out) if ok else out.reshape(x.shape))

    return Layer()


@case("head-mapping", "J2")
def merged_by_a_view_alone_in_an_encoder(ok):
    class Layer(Projections):
        def forward(self, x):
            out = by_hand(*self.qkv(x))
            return self.out(merge(out) if ok else out.contiguous().view(x.shape))

    return Layer()


@case("head-mapping", "J3")
def heads_and_tokens_swapped_for_the_fused_function(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            if ok:
                return self.out(merge(F.scaled_dot_product_attention(q, k, v)))
            q, k, v = (one.transpose(1, 2) for one in (q, k, v))
            return self.out(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))

    return Layer()


@case("head-mapping", "J4")
def groups_tiled_in_a_layer(ok):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj, self.o_proj = nn.Linear(16, 16), nn.Linear(16, 16)
            self.k_proj, self.v_proj = nn.Linear(16, 8), nn.Linear(16, 8)

        def forward(self, x):
            q, k, v = split(self.q_proj(x), 4), split(self.k_proj(x), 2), split(self.v_proj(x), 2)
            if ok:
                k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
            else:
                k, v = k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)
            return self.o_proj(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))

    return Layer()


@case("head-mapping", "J4")
def a_function_that_gives_all_heads_the_first_group(ok):
    def attention(q, k, v):
        times = q.size(1) // k.size(1)
        if ok:
            k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        else:
            k, v = k[:, :1], v[:, :1]
        return by_hand(q, k, v)

    return attention


@case("head-mapping", "J4")
def keys_interleaved_and_values_tiled(ok):
    def attention(query, key, value):
        times = query.size(1) // key.size(1)
        key = key.repeat_interleave(times, 1)
        value = value.repeat_interleave(times, 1) if ok else value.repeat(1, times, 1, 1)
        return by_hand(query, key, value)

    return attention


@case("head-mapping", "J5")
def keys_taken_from_the_queries_part(ok):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x):
            q, k, v = (split(one, HEADS) for one in self.qkv(x).chunk(3, -1))
            return self.out(merge(by_hand(q, k if ok else q, v, triangle(x.size(1)))))

    return Layer()


@case("head-mapping", "J5")
def all_heads_are_the_first(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            if not ok:
                q, k, v = (one[:, :1].expand_as(one) for one in (q, k, v))
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)))))

    return Layer()
