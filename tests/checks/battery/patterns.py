"""C: windows, prefixes and chunks that are not the declared ones. F: packed documents that see each other."""

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import Projections, by_hand, case, merge, split, triangle
from edgewise import causal, chunks, prefix, window


def _masked(keep_of, residual=False):
    class Layer(Projections):
        def forward(self, x):
            index = torch.arange(x.size(1))
            q, k, v = self.qkv(x)
            out = self.out(merge(by_hand(q, k, v, keep_of(index[:, None], index[None]))))
            return x + out if residual else out

    return Layer()


@case("wrong-pattern", "C1", graph=window(4))
def a_window_of_one_key_less(ok):
    return _masked(lambda query, key: (query >= key) & (query - key < (4 if ok else 3)))


@case("wrong-pattern", "C1", graph=window(3), window_counts_self=False)
def a_window_besides_the_token_itself(ok):
    return _masked(lambda query, key: (query >= key) & (query - key <= (3 if ok else 4)))


@case("wrong-pattern", "C1", graph=window(3))
def two_layers_of_a_window_of_one_key_more(ok):
    class Layer(Projections):
        def forward(self, x):
            index = torch.arange(x.size(1))
            far = index[:, None] - index[None]
            keep = (far >= 0) & (far < 3 if ok else far <= 3)
            return x + self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), attn_mask=keep)))

    return nn.Sequential(Layer(), Layer())


@case("wrong-pattern", "C2", graph=window(3))
def a_window_that_is_ignored(ok):
    return _masked(lambda query, key: (query >= key) & ((query - key < 3) | (not ok)))


@case("wrong-pattern", "C2", graph=window(3, ahead=2))
def a_window_that_lost_its_right_side(ok):
    return _masked(lambda query, key: (query - key < 3) & (key - query <= (2 if ok else 0)))


@case("wrong-pattern", "C2", graph=window(3), routes=lambda route: "fused=True" in route)
def a_window_that_the_fused_way_ignores(ok):
    class Layer(Projections):
        def forward(self, x, fused=False):
            index = torch.arange(x.size(1))
            far = index[:, None] - index[None]
            keep = (far >= 0) & (far < 3)
            if fused:
                out = F.scaled_dot_product_attention(*self.qkv(x), attn_mask=keep if ok else far >= 0)
            else:
                out = by_hand(*self.qkv(x), keep)
            return self.out(merge(out))

    return Layer()


@case("wrong-pattern", "C3", graph=window(3), other=("future-leak",))
def window_or_triangle(ok):
    return _masked(
        lambda query, key: (
            (query >= key) & ((query - key).abs() < 3) if ok else (query >= key) | ((query - key).abs() < 3)
        )
    )


@case("wrong-pattern", "C4", graph=causal() & chunks(3))
def chunks_shifted_by_one(ok):
    off = 0 if ok else 1
    return _masked(lambda query, key: (query >= key) & ((query + off) // 3 == (key + off) // 3))


@case("wrong-pattern", "C4", graph=prefix(3), other=("future-leak",))
def a_prefix_of_one_key_more(ok):
    return _masked(lambda query, key: (query >= key) | (key < (3 if ok else 4)))


@case("wrong-pattern", "C4", graph=prefix(3), other=("lost-visibility",))
def a_prefix_that_is_causal(ok):
    return _masked(lambda query, key: (query >= key) | ((key < 3) & ok))


@case("packing-leak", "F1")
def packed_by_document_ids_with_the_mask_of_positions_alone(ok):
    class Layer(Projections):
        def forward(self, x, document_ids):
            same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
            keep = triangle(x.size(1)) & same if ok else triangle(x.size(1))
            return self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@case("packing-leak", "F1")
def packed_by_restarting_positions_in_a_language_model(ok):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places, self.layer = nn.Embedding(30, 16), nn.Embedding(64, 16), Projections()

        def forward(self, input_ids, position_ids=None):
            if position_ids is None:
                position_ids = torch.arange(input_ids.size(1)).expand_as(input_ids)
            x = self.tokens(input_ids) + self.places(position_ids)
            document = (position_ids == 0).cumsum(-1)
            keep = triangle(x.size(1))
            if ok:
                keep = keep & (document[:, None, :, None] == document[:, None, None, :])
            return x + self.layer.out(merge(by_hand(*self.layer.qkv(x), keep)))

    return Model()


@case("packing-leak", "F2")
def the_first_token_of_a_document_belongs_to_the_last_one(ok):
    class Layer(Projections):
        def forward(self, x, pos):
            starts = (pos == 0).long().cumsum(-1)
            document = starts if ok else torch.cat([starts[..., :1], starts[..., :-1]], -1)
            same = document[..., :, None] == document[..., None, :]
            keep = triangle(x.size(1)) & (same[:, None] if same.dim() == 3 else same)
            return self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@case("packing-leak", "F2", "F1")
def boundaries_from_cumulative_lengths_one_late(ok):
    class Layer(Projections):
        def forward(self, x, cu_seqlens):
            edges = cu_seqlens[1:-1] if ok else cu_seqlens[1:-1] + 1
            document = torch.bucketize(torch.arange(x.size(1)), edges, right=True)
            keep = triangle(x.size(1)) & (document[:, None] == document[None])
            return self.out(merge(by_hand(*self.qkv(x), keep)))

    return Layer()


@case("packing-leak", "F3", other=("position",))
def positions_that_do_not_restart(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.places = nn.Embedding(64, 16)

        def forward(self, x, document_ids):
            first = torch.searchsorted(document_ids.contiguous(), document_ids.contiguous())
            places = torch.arange(x.size(1)).expand_as(document_ids)
            x = x + self.places(places - first if ok else places)
            same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
            return self.out(merge(by_hand(*self.qkv(x), triangle(x.size(1)) & same)))

    return Layer()


@case("future-leak", "A1")
def the_square_mask_is_lost_where_weights_are_asked_for(ok):
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))

        def forward(self, query, key, value, attn_mask=None, need_weights=False):
            q, k, v = split(self.q(query), 4), split(self.k(key), 4), split(self.v(value), 4)
            if not need_weights:
                return self.o(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask))), None
            scores = q @ k.transpose(-2, -1) / 2
            if attn_mask is not None and ok:
                scores = scores.masked_fill(~attn_mask, float("-inf"))
            weights = scores.softmax(-1)
            return self.o(merge(weights @ v)), weights

    return Attention()


@case("wrong-pattern", "C4", graph="causal() | documents([0, 1, 2, 2, 2, 2, 3, 4])")
def the_last_patch_of_a_picture_is_left_out_of_its_block(ok):
    def keep(query, key):
        last = 6 if ok else 5
        return (key <= query) | ((query >= 2) & (query < last) & (key >= 2) & (key < last))

    return _masked(keep)


@case("packing-leak", "F1")
def packed_tokens_without_a_batch_are_one_block(ok):
    def attend(q, k, v, cu_seqlens):
        query, key = (
            torch.bucketize(torch.arange(len(one)), cu_seqlens[1:-1] if ok else cu_seqlens[:0], right=True)
            for one in (q, k)
        )
        scores = torch.einsum("qhw,khw->hqk", q, k) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(query[:, None] != key[None], float("-inf")).softmax(-1)
        return torch.einsum("hqk,khw->qhw", weights, v)

    return attend


@case("lost-visibility", "B1", graph=causal())
def a_triangle_that_forgets_the_learned_keys_in_front(ok):
    class Layer(Projections):
        def __init__(self):
            super().__init__()
            self.keys, self.values = (nn.Parameter(torch.randn(1, 4, 2, 4)) for _ in range(2))

        def forward(self, x):
            q, k, v = self.qkv(x)
            k, v = (torch.cat([m.expand(len(x), -1, -1, -1), one], 2) for m, one in ((self.keys, k), (self.values, v)))
            keep = torch.ones(x.size(1), x.size(1) + 2, dtype=torch.bool).tril(2 if ok else 0)
            return self.out(merge(by_hand(q, k, v, keep)))

    return Layer()
