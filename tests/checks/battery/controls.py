"""Right targets that look wrong: none of them may be flagged."""

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import HEADS, Projections, by_hand, case, merge, split, trap, triangle
from battery.positions import angles_of, halves, neighbours
from edgewise import causal, full, prefix, window


@trap(graph=causal())
def right_padding_in_a_causal_model_needs_no_mask():
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            keep = triangle(x.size(1))
            if attention_mask is not None and bool((attention_mask[:, 0] == 0).any()):
                keep = (keep & attention_mask.bool()[:, None, None, :]) | torch.eye(x.size(1)).bool()
            return x + self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@trap()
def multi_head_attention_of_torch_with_dropout():
    return nn.MultiheadAttention(16, 4, dropout=0.4, batch_first=True)


@trap()
def multi_head_attention_of_torch_in_training():
    return nn.MultiheadAttention(16, 4, dropout=0.4, batch_first=True).train()


@trap()
def transformer_encoder_layer_of_torch():
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True)


@trap()
def transformer_encoder_of_torch():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


@trap()
def transformer_decoder_layer_of_torch():
    return nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)


@trap()
def the_fused_function_itself():
    return F.scaled_dot_product_attention


@trap(graph=causal())
def causal_with_more_queries_than_keys_gives_zeros():
    def attention(q, k, v):
        keep = triangle(q.size(-2), k.size(-2))
        weights = (q @ k.transpose(-2, -1) * q.size(-1) ** -0.5).masked_fill(~keep, -1e30).softmax(-1)
        return (weights * keep.any(-1, keepdim=True)) @ v

    return attention


@trap(scale=1.0)
def not_scaled_by_design():
    def attention(q, k, v):
        return (q @ k.transpose(-2, -1)).softmax(-1) @ v

    return attention


@trap(scale=0.25)
def scaled_by_one_over_the_width_by_design():
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)), scale=1 / q.size(-1))))

    return Layer()


def _rotary(turn, past_of=None):
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            past = 0 if cache is None else cache[0].size(2)
            angles = angles_of(torch.arange(past, past + x.size(1)).to(x.dtype), q.size(-1))
            q, k = turn(q, angles), turn(k, angles)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            return x + self.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2))))), (k, v)

    return Layer()


@trap(graph=causal())
def rotary_in_halves():
    return _rotary(halves)


@trap(graph=causal())
def rotary_in_neighbours():
    return _rotary(neighbours)


@trap(sinks=True)
def a_sink_takes_some_of_the_weight():
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.sinks = nn.Parameter(torch.randn(HEADS))

        def forward(self, x):
            q, k, v = self.qkv(x)
            scores = (q @ k.transpose(-2, -1) / 2).masked_fill(~triangle(x.size(1)), -1e30)
            sink = self.sinks.view(1, HEADS, 1, 1).expand(x.size(0), HEADS, x.size(1), 1)
            return self.out(merge(torch.cat([scores, sink], -1).softmax(-1)[..., :-1] @ v))

    return Layer()


@trap(pads_attended=True)
def padding_that_is_read_by_design():
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            return self.out(merge(by_hand(*self.qkv(x))))

    return Layer()


@trap(graph=prefix(3))
def a_prefix_that_sees_itself_both_ways():
    class Layer(Projections):
        def forward(self, x):
            index = torch.arange(x.size(1))
            keep = (index[:, None] >= index[None]) | (index[None] < 3)
            return x + self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@trap(graph=window(3))
def a_window_with_a_ring_of_keys():
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            keep = triangle(q.size(2), k.size(2)).triu(k.size(2) - q.size(2) - 2)
            out = x + self.out(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=keep)))
            return out, (k[:, :, -2:], v[:, :, -2:])

    return Layer()


@trap()
def a_layer_in_single_precision():
    class Layer(Projections):
        def forward(self, x, mask=None):
            keep = triangle(x.size(1))
            if mask is not None:
                keep = (keep & mask.bool()[:, None, None, :]) | torch.eye(x.size(1)).bool()
            return x + self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), attn_mask=keep)))

    return Layer().float()


@trap()
def no_positions_at_all():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.layer, self.head = nn.Embedding(50, 16), Projections(), nn.Linear(16, 50)

        def forward(self, idx):
            x = self.embed(idx)
            return self.head(x + self.layer.out(merge(by_hand(*self.layer.qkv(x)))))

    return Model()


@trap(graph=causal())
def groups_interleaved():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj, self.o_proj = nn.Linear(16, 16), nn.Linear(16, 16)
            self.k_proj, self.v_proj = nn.Linear(16, 8), nn.Linear(16, 8)

        def forward(self, x):
            q, k, v = split(self.q_proj(x), 4), split(self.k_proj(x), 2), split(self.v_proj(x), 2)
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return self.o_proj(merge(out))

    return Layer()


@trap(graph=causal())
def one_key_value_head_for_all():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.kv, self.o = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 16)

        def forward(self, x):
            k, v = self.kv(x).chunk(2, -1)
            return self.o(merge(by_hand(split(self.q(x), 4), k[:, None], v[:, None], triangle(x.size(1)))))

    return Layer()


@trap(graph=causal())
def hidden_by_a_large_finite_number():
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            q, k, v = self.qkv(x)
            scores = q @ k.transpose(-2, -1) / 2
            low = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(~triangle(x.size(1)), low)
            if attention_mask is not None:
                scores = scores.masked_fill(~attention_mask.bool()[:, None, None, :], low)
            return x + self.out(merge(scores.softmax(-1) @ v))

    return Layer()


@trap(graph=causal())
def slopes_that_punish_distance_with_a_cache():
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            where = torch.arange(k.size(2))
            far = (where[-q.size(2) :, None] - where[None]).to(x.dtype)
            slopes = (2.0 ** (-2 * torch.arange(1, HEADS + 1)))[:, None, None].to(x.dtype)
            scores = q @ k.transpose(-2, -1) / 2 - slopes * far
            scores = scores.masked_fill(~triangle(q.size(2), k.size(2)), float("-inf"))
            return self.out(merge(scores.softmax(-1) @ v)), (k, v)

    return Layer()


@trap(graph=causal())
def slopes_by_the_place_of_the_key_alone():
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            slopes = (2.0 ** (-2 * torch.arange(1, HEADS + 1)))[:, None, None].to(x.dtype)
            scores = q @ k.transpose(-2, -1) / 2 + slopes * torch.arange(x.size(1)).to(x.dtype)
            return self.out(merge(scores.masked_fill(~triangle(x.size(1)), -1e30).softmax(-1) @ v))

    return Layer()


@trap(graph=causal())
def dropout_set_and_evaluated():
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            q, k, v = self.qkv(x)
            weights = (q @ k.transpose(-2, -1) / 2).masked_fill(~triangle(x.size(1)), -1e30).softmax(-1)
            return x + self.drop(self.out(merge(self.drop(weights) @ v)))

    return Layer()


@trap(graph=causal())
def a_soft_cap_and_norms_of_queries_and_keys():
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.norm = nn.RMSNorm(4)

        def forward(self, x):
            q, k, v = self.qkv(x)
            scores = self.norm(q) @ self.norm(k).transpose(-2, -1) / 2
            scores = (scores / 5).tanh() * 5
            return self.out(merge(scores.masked_fill(~triangle(x.size(1)), float("-inf")).softmax(-1) @ v))

    return Layer()


@trap(graph=full())
def an_encoder_with_padding_and_learned_positions():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places, self.layer = nn.Embedding(50, 16), nn.Embedding(64, 16), Projections()
            self.norm = nn.LayerNorm(16)

        def forward(self, input_ids, attention_mask=None):
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
            x = self.tokens(input_ids) + self.places((mask.cumsum(-1) - 1).clamp(min=0))
            return self.norm(x + self.layer.out(merge(by_hand(*self.layer.qkv(x), mask.bool()[:, None, None, :]))))

    return Model()


@trap()
def two_layers_with_a_caller_owned_cache_and_no_residual():
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            return self.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2))))), (k, v)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Layer(), Layer()])

        def forward(self, x, cache=None):
            kept = []
            for index, layer in enumerate(self.layers):
                x, one = layer(x, None if cache is None else cache[index])
                kept.append(one)
            return x, kept

    return Model()


@case("future-leak", "A1", graph=causal())
def a_trap_that_is_wrong_after_all(ok):
    class Layer(Projections):
        def forward(self, x):
            return x + self.out(merge(by_hand(*self.qkv(x), triangle(x.size(1)) if ok else None)))

    return Layer()


@trap()
def memory_longer_than_the_text():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.cross = Projections(), Projections()

        def forward(self, x, memory, memory_mask=None):
            x = x + self.own.out(merge(by_hand(*self.own.qkv(x), triangle(x.size(1)))))
            keep = None if memory_mask is None else memory_mask.bool()[:, None, None, :]
            return x + self.cross.out(merge(by_hand(*self.cross.qkv(x, memory), keep)))

    return Layer()
