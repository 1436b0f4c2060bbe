"""E: rows of a batch that mix."""

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import HEADS, Projections, by_hand, case, merge, triangle


@case("batch-leak", "E1")
def a_transformer_encoder_layer_fed_batch_first(ok):
    return nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=ok)


@case("batch-leak", "E1")
def batch_and_time_swapped_by_a_view(ok):
    class Layer(Projections):
        def forward(self, x):
            batch, tokens, channels = x.shape
            inner = x if ok else x.reshape(tokens, batch, channels)
            out = self.out(merge(by_hand(*self.qkv(inner))))
            return out.reshape(batch, tokens, channels)

    return Layer()


def _folded(repeat):
    """Heads folded into the batch for bmm: the mask must be repeated in the same order."""

    class Layer(Projections):
        def forward(self, x, mask):
            batch, tokens, _ = x.shape
            q, k, v = (one.reshape(batch * HEADS, tokens, -1) for one in self.qkv(x))
            scores = torch.bmm(q, k.transpose(1, 2)) / 2
            keep = repeat(mask.bool())[:, None, :]
            out = scores.masked_fill(~keep, -1e9).softmax(-1) @ v
            return self.out(merge(out.view(batch, HEADS, tokens, -1)))

    return Layer()


@case("batch-leak", "E2", other=("padding-leak",))
def a_mask_tiled_over_heads_in_the_wrong_order(ok):
    return _folded(lambda mask: mask.repeat_interleave(HEADS, 0) if ok else mask.repeat(HEADS, 1))


@case("batch-leak", "E3", other=("padding-leak",))
def the_mask_of_the_first_row_for_all(ok):
    class Layer(Projections):
        def forward(self, x, mask):
            keep = mask.bool()[:, None, None, :] if ok else mask.bool()[:1, None, None, :]
            return self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), attn_mask=keep)))

    return Layer()


@case("batch-leak", "E3", "K4", other=("position",))
def the_positions_of_the_first_row_for_all(ok):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places, self.layer = nn.Embedding(50, 16), nn.Embedding(64, 16), Projections()

        def forward(self, input_ids, attention_mask=None):
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
            places = (mask.cumsum(-1) - 1).clamp(min=0)
            x = self.tokens(input_ids) + self.places(places if ok else places[:1])
            keep = (triangle(x.size(1)) & mask.bool()[:, None, None, :]) | torch.eye(x.size(1)).bool()
            return x + self.layer.out(merge(by_hand(*self.layer.qkv(x), keep)))

    return Model()


@case("batch-leak", "E4", other=("path-mismatch",))
def the_cache_gives_rows_back_in_another_order(ok):
    class Layer(Projections):
        def forward(self, x, cache=None):
            q, k, v = self.qkv(x)
            if cache is not None:
                old = cache if ok else [one.flip(0) for one in cache]
                k, v = torch.cat([old[0], k], 2), torch.cat([old[1], v], 2)
            return self.out(merge(by_hand(q, k, v, triangle(q.size(2), k.size(2))))), (k, v)

    return Layer()


@case("batch-leak", "E1", "E3")
def scores_normalised_over_the_whole_batch(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            middle = q.mean((2,), keepdim=True) if ok else q.mean((0, 2), keepdim=True)
            return self.out(merge(by_hand(q - middle, k, v)))

    return Layer()
