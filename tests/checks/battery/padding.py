"""D: padding that is read."""

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import Projections, by_hand, case, merge, triangle


def _own(tokens):
    return torch.eye(tokens, dtype=torch.bool)


@case("padding-leak", "D1")
def the_padding_mask_is_for_batches_alone(ok):
    class Layer(Projections):
        def forward(self, x, mask=None):
            keep = None
            if mask is not None and (ok or x.size(0) > 1):
                keep = mask.bool()[:, None, None, :]
            return self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@case("padding-leak", "D1")
def the_second_layer_gets_no_padding_mask(ok):
    class Layer(Projections):
        def forward(self, x, mask):
            return x + self.out(merge(by_hand(*self.qkv(x), mask)))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.one, self.two = nn.Embedding(50, 16), Layer(), Layer()

        def forward(self, input_ids, attention_mask=None):
            keep = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
            return self.two(self.one(self.embed(input_ids), keep), keep if ok else None)

    return Model()


@case("padding-leak", "D1", other=("path-mismatch",))
def a_decoding_step_forgets_the_padding(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask=None, past_key_values=None):
            q, k, v = self.qkv(x)
            past = past_key_values
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            keep = triangle(q.size(2), k.size(2))
            if attention_mask is not None and (ok or past is None):
                keep = keep & attention_mask.bool()[:, None, None, :]
                keep = keep | torch.ones_like(keep[0, 0]).tril(k.size(2) - q.size(2)).triu(k.size(2) - q.size(2))
            return self.out(merge(by_hand(q, k, v, keep))), (k, v)

    return Layer()


@case("padding-leak", "D2", "D1")
def the_padding_mask_on_the_query_axis(ok):
    class Layer(Projections):
        def forward(self, x, mask):
            keep = mask.bool()[:, None, None, :] if ok else mask.bool()[:, None, :, None]
            keep = keep.expand(-1, -1, x.size(1), x.size(1)) | _own(x.size(1))
            return self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@case("padding-leak", "D3", "D1", pad=1)
def padding_known_by_the_wrong_id(ok):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.layer = nn.Embedding(50, 16), Projections()

        def forward(self, input_ids):
            keep = (input_ids != (1 if ok else 0))[:, None, None, :] | _own(input_ids.size(1))
            x = self.embed(input_ids)
            return x + self.layer.out(merge(by_hand(*self.layer.qkv(x), keep)))

    return Model()


@case("padding-leak", "D3", "D1")
def lengths_counted_from_the_wrong_side(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask):
            keep = attention_mask.bool()
            if not ok:
                keep = torch.arange(x.size(1)) < keep.sum(-1, keepdim=True)
            keep = keep[:, None, None, :] | _own(x.size(1))
            return self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@case("padding-leak", "D4")
def a_mean_over_tokens_that_counts_padding(ok):
    class Layer(Projections):
        def forward(self, x, mask=None):
            keep = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask.bool()
            out = x + self.out(merge(by_hand(*self.qkv(x), keep[:, None, None, :])))
            counted = keep[..., None].to(x.dtype) if ok else torch.ones_like(x[..., :1])
            return out + (out * counted).sum(1, keepdim=True) / counted.sum(1, keepdim=True)

    return Layer()


@case("padding-leak", "D4")
def a_state_that_runs_through_padding(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            keep = torch.ones(x.shape[:2], dtype=torch.bool) if attention_mask is None else attention_mask.bool()
            state = (x * keep[..., None] if ok else x).cumsum(1)
            q, k, v = self.qkv(x)
            seen = (triangle(x.size(1)) & keep[:, None, None, :]) | _own(x.size(1))
            return self.out(merge(by_hand(q, k, v, seen))) + state

    return Layer()


@case("padding-leak", "D5")
def cross_attention_reads_the_padding_of_memory(ok):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.cross = Projections(), Projections()

        def forward(self, x, memory, memory_mask=None):
            x = x + self.own.out(merge(by_hand(*self.own.qkv(x), triangle(x.size(1)))))
            keep = None if memory_mask is None or not ok else memory_mask.bool()[:, None, None, :]
            q, k, v = self.cross.qkv(x, memory)
            return x + self.cross.out(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=keep)))

    return Layer()
