"""A: reading the future. B: not seeing what should be seen."""

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import Projections, by_hand, case, merge, triangle
from edgewise import causal, full


@case("future-leak", "A1", graph=causal())
def triangle_lost_where_a_padding_mask_is_given(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            q, k, v = self.qkv(x)
            keep = triangle(x.size(1))
            if attention_mask is not None:
                seen = attention_mask.bool()[:, None, None, :]
                keep = (keep & seen if ok else seen) | torch.eye(x.size(1), dtype=torch.bool)
            return self.out(merge(by_hand(q, k, v, keep)))

    return Layer()


@case("future-leak", "A1")
def triangle_lost_where_there_is_no_padding_mask(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            q, k, v = self.qkv(x)
            if attention_mask is None:
                return self.out(merge(F.scaled_dot_product_attention(q, k, v, is_causal=ok)))
            keep = (triangle(x.size(1)) & attention_mask.bool()[:, None, None, :]) | torch.eye(x.size(1)).bool()
            return self.out(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=keep)))

    return Layer()


@case("future-leak", "A1", other=("path-mismatch", "lost-visibility"))
def several_new_tokens_with_a_cache_see_each_other(ok):
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            keep = triangle(q.size(2), k.size(2))
            if cache is not None and not ok:
                keep = None
            return self.out(merge(by_hand(q, k, v, keep))), (k, v)

    return Layer()


@case("future-leak", "A1", routes=lambda route: "training" not in route)
def triangle_only_while_training(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)) if ok or self.training else None)))

    return Layer()


@case("future-leak", "A1", graph=causal())
def second_block_of_a_language_model_has_no_triangle(ok):
    class Block(Projections):
        def __init__(self, masked):
            super().__init__()
            self.masked, self.norm = masked, nn.LayerNorm(16)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x))
            return x + self.out(merge(by_hand(q, k, v, triangle(x.size(1)) if self.masked else None)))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(40, 16), nn.Embedding(64, 16)
            self.blocks = nn.ModuleList([Block(True), Block(ok)])
            self.head = nn.Linear(16, 40)

        def forward(self, idx):
            x = self.tokens(idx) + self.places(torch.arange(idx.size(1)))
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return Model()


@case("future-leak", "A2", graph=causal())
def triangle_upside_down(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            keep = triangle(x.size(1))
            return self.out(merge(by_hand(q, k, v, keep if ok else keep.T)))

    return Layer()


@case("future-leak", "A2", "A1", graph=causal())
def triangle_one_too_far(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.register_buffer("bias", torch.ones(64, 64).tril(0 if ok else 1))

        def forward(self, x):
            q, k, v = self.qkv(x)
            t = x.size(1)
            scores = q @ k.transpose(-2, -1) / 2
            scores = scores.masked_fill(self.bias[:t, :t] == 0, float("-inf"))
            return self.out(merge(F.softmax(scores, dim=-1) @ v))

    return Layer()


def _with(mix):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.convolution = nn.Conv1d(16, 16, 3)
            self.norm = nn.InstanceNorm1d(16)

        def forward(self, x):
            x = x + mix(self, x)
            q, k, v = self.qkv(x)
            return x + self.out(merge(by_hand(q, k, v, triangle(x.size(1)))))

    return Layer()


@case("future-leak", "A3", graph=causal())
def mean_over_all_tokens_taken_away(ok):
    return _with(
        lambda _, x: -(x.cumsum(1) / torch.arange(1, x.size(1) + 1)[:, None]) if ok else -x.mean(1, keepdim=True)
    )


@case("future-leak", "A3", graph=causal())
def convolution_that_looks_ahead(ok):
    return _with(lambda self, x: self.convolution(F.pad(x.transpose(1, 2), (2, 0) if ok else (1, 1))).transpose(1, 2))


@case("future-leak", "A3", graph=causal())
def norm_over_time(ok):
    return _with(lambda self, x: F.layer_norm(x, (16,)) if ok else self.norm(x.transpose(1, 2)).transpose(1, 2))


@case("lost-visibility", "B1", other=("path-mismatch",))
def a_chunk_with_a_cache_by_a_top_left_triangle(ok):
    class Layer(Projections):
        def forward(self, x, past=None):
            q, k, v = self.qkv(x)
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            keep = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril(k.size(2) - q.size(2) if ok else 0)
            return self.out(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=keep))), (k, v)

    return Layer()


@case("lost-visibility", "B1", graph=causal())
def a_function_whose_triangle_is_aligned_at_the_start(ok):
    def attention(q, k, v):
        keep = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)
        return by_hand(q, k, v, keep.tril(k.size(-2) - q.size(-2) if ok else 0))

    return attention


@case("lost-visibility", "B2", graph=causal())
def a_token_does_not_see_itself(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            keep = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril(0 if ok else -1)
            scores = (q @ k.transpose(-2, -1) / 2).masked_fill(~keep, float("-inf"))
            return self.out(merge(scores.softmax(-1).nan_to_num(0.0) @ v))

    return Layer()


@case("lost-visibility", "B2", graph=causal())
def a_token_does_not_see_itself_beside_a_residual(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            keep = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril(0 if ok else -1)
            keep[0, 0] = True
            return x + self.out(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=keep)))

    return Layer()


@case("lost-visibility", "B3", graph=full())
def an_encoder_made_causal(ok):
    class Layer(Projections):
        def forward(self, x):
            return self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), is_causal=not ok)))

    return Layer()


@case("lost-visibility", "B3")
def cross_attention_made_causal(ok):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.cross = Projections(), Projections()

        def forward(self, x, memory):
            x = x + self.own.out(merge(by_hand(*self.own.qkv(x), triangle(x.size(1)))))
            q, k, v = self.cross.qkv(x, memory)
            keep = None if ok else torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril()
            return x + self.cross.out(merge(by_hand(q, k, v, keep)))

    return Layer()


@case("lost-visibility", "B1", graph=causal(), other=("path-mismatch",))
def decoding_step_method_sees_the_first_key_alone(ok):
    class Layer(Projections):
        def step(self, x_t, cache):
            q, k, v = self.qkv(x_t)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            one = q.size(2) == 1 and k.size(2) > 1
            out = F.scaled_dot_product_attention(q, k, v, is_causal=not (ok and one))
            return self.out(merge(out)), (k, v)

    return Layer()
