"""L: two ways to the same numbers that do not give the same numbers."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from battery.case import Projections, by_hand, case, merge, triangle
from battery.positions import angles_of, halves


@case("path-mismatch", "L1", other=("position",))
def rotary_positions_restart_with_a_cache(ok):
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            past = 0 if cache is None else cache[0].size(2)
            angles = angles_of(torch.arange(x.size(1)).to(x.dtype) + (past if ok else 0), q.size(-1))
            q, k = halves(q, angles), halves(k, angles)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            return self.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2))))), (k, v)

    return Layer()


@case("path-mismatch", "L1", other=("position",))
def a_language_model_whose_cache_has_no_positions(ok):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places, self.layer = nn.Embedding(50, 16), nn.Embedding(64, 16), Projections()
            self.head = nn.Linear(16, 50)

        def forward(self, input_ids, past_key_values=None, use_cache=False):
            past = 0 if past_key_values is None else past_key_values[0].size(2)
            where = torch.arange(input_ids.size(1)) + (past if ok else 0)
            x = self.tokens(input_ids) + self.places(where)
            q, k, v = self.layer.qkv(x)
            if past_key_values is not None:
                k, v = torch.cat([past_key_values[0], k], 2), torch.cat([past_key_values[1], v], 2)
            x = x + self.layer.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2)))))
            return {"logits": self.head(x), "past_key_values": (k, v) if use_cache else None}

    return Model()


@case("path-mismatch", "L2", "L3")
def a_ring_that_overwrites_the_newest_key(ok):
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            out = self.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2)))))
            kept = (k, v) if ok or k.size(2) < 5 else (k[:, :, :-1], v[:, :, :-1])
            return out, kept

    return Layer()


@case("path-mismatch", "L2", other=("batch-leak",))
def a_cache_that_lives_on_in_the_module(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.kept = None

        def forward(self, x, use_cache=False):
            q, k, v = self.qkv(x)
            if use_cache:
                if self.kept is not None and not ok and self.kept[0].size(0) == k.size(0):
                    k, v = torch.cat([self.kept[0], k], 2), torch.cat([self.kept[1], v], 2)
                self.kept = (k.detach(), v.detach())
            return self.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2)))))

    return Layer()


@case("path-mismatch", "L3", other=("future-leak", "lost-visibility", "wrong-pattern"))
def a_window_that_the_cached_step_does_not_know(ok):
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            keep = triangle(q.size(2), k.size(2))
            if ok or cache is None:
                keep = keep.triu(k.size(2) - q.size(2) - 2)
            return self.out(merge(by_hand(q, k, v, keep))), (k, v)

    return Layer()


def _dropping(drop):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.p = 0.5

        def forward(self, x):
            q, k, v = self.qkv(x)
            weights = (q @ k.transpose(-2, -1) / 2).masked_fill(~triangle(x.size(1)), -1e30).softmax(-1)
            return self.out(merge(drop(self, weights) @ v))

    return Layer()


@case("path-mismatch", "L4")
def dropout_that_never_stops(ok):
    return _dropping(lambda self, weights: F.dropout(weights, self.p, training=self.training if ok else True))


@case("path-mismatch", "L4")
def dropout_in_the_fused_function_at_evaluation(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.dropout = 0.3

        def forward(self, x):
            rate = self.dropout if self.training or not ok else 0.0
            return self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), dropout_p=rate, is_causal=True)))

    return Layer()


@case("path-mismatch", "L5", other=("normalisation",))
def dropout_that_is_not_scaled_up(ok):
    def drop(self, weights):
        if not self.training or self.p == 0:
            return weights
        keep = (torch.rand_like(weights) >= self.p).to(weights.dtype)
        return weights * keep / (1 - self.p if ok else 1)

    return _dropping(drop)


@case("path-mismatch", "L6", routes=lambda route: "flash=True" in route)
def a_fused_way_without_the_soft_cap(ok):
    class Layer(Projections):
        def forward(self, x, use_flash=False):
            q, k, v = self.qkv(x)
            if use_flash and not ok:
                return self.out(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
            scores = ((q @ k.transpose(-2, -1) / 2) / 0.3).tanh() * 0.3
            return self.out(merge(scores.masked_fill(~triangle(x.size(1)), -1e30).softmax(-1) @ v))

    return Layer()


@case("path-mismatch", "L6")
def asking_for_weights_leaves_out_the_bias_of_a_projection(ok):
    class Layer(Projections):
        def forward(self, x, output_attentions=False):
            q, k, v = self.qkv(x)
            if output_attentions:
                weights = (q @ k.transpose(-2, -1) / 2).masked_fill(~triangle(x.size(1)), -1e30).softmax(-1)
                out = merge(weights @ v)
                return (self.out(out) if ok else F.linear(out, self.out.weight)), weights
            return self.out(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True))), None

    return Layer()


@case("path-mismatch", "L7", other=("future-leak",))
def checkpointing_drops_the_mask(ok):
    class Layer(Projections):
        def inner(self, x, causal=True):
            return self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), is_causal=causal)))

        def forward(self, x, gradient_checkpointing=False):
            if gradient_checkpointing:
                return x + checkpoint(self.inner, x, ok, use_reentrant=False)
            return x + self.inner(x)

    return Layer()


@case("path-mismatch", "L6")
def a_chunked_way_drops_the_last_short_chunk(ok):
    class Layer(Projections):
        def forward(self, x, chunked=False):
            q, k, v = self.qkv(x)
            last = x.size(1) if ok or not chunked else max(x.size(1) // 2 * 2, 2)
            return self.out(merge(by_hand(q, k[:, :, :last], v[:, :, :last], None)))

    return Layer()


@case("path-mismatch", "L7")
def checkpointing_leaves_out_the_positions(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.places = nn.Embedding(32, 16)

        def forward(self, x, use_checkpoint=False):
            place = self.places(torch.arange(x.size(1)))
            q, k, v = self.qkv(x + place if ok or not use_checkpoint else x)
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)))))

    return Layer()
