"""Right targets that read less than all, or keep what they read in an unusual way, by design."""

import torch
from torch import nn

from battery.case import Projections, by_hand, merge, split, trap, triangle
from edgewise import causal, chunks, window


class Patterned(Projections):
    def __init__(self, keep):
        super().__init__()
        self.keep = keep

    def forward(self, x):
        place = torch.arange(x.size(1))
        return self.out(merge(by_hand(*self.qkv(x), self.keep(place[:, None], place[None])).nan_to_num(0.0)))


@trap(graph=causal())
def each_query_keeps_its_three_best_keys():
    def attention(q, k, v):
        scores = (q @ k.mT * q.size(-1) ** -0.5).masked_fill(~triangle(q.size(-2), k.size(-2)), float("-inf"))
        third = scores.topk(min(3, k.size(-2)), -1).values[..., -1:]
        return scores.masked_fill(scores < third, float("-inf")).softmax(-1).nan_to_num(0.0) @ v

    return attention


@trap()
def a_band_and_one_token_that_all_read_and_that_reads_all():
    return Patterned(lambda query, key: ((query - key).abs() <= 1) | (query == 0) | (key == 0))


@trap()
def random_edges_that_stay_the_same():
    more = torch.rand(64, 64, generator=torch.Generator().manual_seed(0)) < 0.2
    return Patterned(lambda q, k: ((q - k).abs() <= 1) | (k == 0) | more[: q.size(0), : k.size(1)])


@trap()
def the_past_without_oneself():
    return Patterned(lambda query, key: key < query)


@trap(graph=causal())
def half_of_the_heads_have_a_window():
    return Patterned(lambda query, key: torch.stack([(key <= query) & (query - key < 3)] * 2 + [key <= query] * 2))


@trap(graph=causal())
def layers_that_are_local_and_global_in_turn():
    return nn.Sequential(
        Patterned(lambda query, key: (key <= query) & (query - key < 3)), Patterned(lambda query, key: key <= query)
    )


@trap()
def a_window_and_first_keys_that_stay_open():
    def attention(q, k, v):
        distance = torch.arange(k.size(-2) - q.size(-2), k.size(-2))[:, None] - torch.arange(k.size(-2))
        keep = (distance >= 0) & ((distance < 3) | (torch.arange(k.size(-2)) < 2))
        return by_hand(q, k, v, keep).nan_to_num(0.0)

    return attention


@trap(graph=chunks(4))
def a_length_that_must_be_a_multiple_of_a_block():
    class Layer(Projections):
        def forward(self, x):
            assert x.size(1) % 4 == 0, "the length must be a multiple of 4"
            return self.out(merge(by_hand(*self.qkv(x.reshape(-1, 4, 16))))).view_as(x)

    return Layer()


@trap(length=8)
def landmarks_that_are_means_of_tokens():
    class Layer(Projections):
        def forward(self, x):
            query, key, value = self.qkv(x)
            query, key = query / 2**0.5, key / 2**0.5
            few, fewer = (one.unflatten(2, (4, -1)).mean(3) for one in (query, key))
            pairs = ((query, fewer), (few, fewer), (few, key))
            first, middle, last = ((one @ other.mT).softmax(-1) for one, other in pairs)
            return self.out(merge(first @ torch.linalg.pinv(middle) @ (last @ value)))

    return Layer()


@trap(graph=causal())
def places_in_a_cache_tell_no_documents():
    class Layer(Projections):
        def forward(self, x, cache=None, cache_position=None):
            query, key, value = self.qkv(x)
            if cache is None:
                return self.out(merge(by_hand(query, key, value, triangle(x.size(1)))))
            for kept, new in zip(cache, (key, value), strict=True):
                kept.index_copy_(2, cache_position, new)
            keep = torch.arange(cache[0].size(2)) <= cache_position[:, None]
            return self.out(merge(by_hand(query, *cache, keep)))

    return Layer()


@trap(graph=window(4))
def a_window_with_positions_shared_by_all_rows():
    class Layer(Projections):
        def forward(self, x, positions=None):
            assert positions is None or positions.dim() == 1
            at = torch.arange(x.size(1)) if positions is None else positions
            angle = at[:, None] * torch.tensor([1.0, 0.1], dtype=x.dtype)
            place = torch.arange(x.size(1))
            distance = place[:, None] - place
            query, key, value = self.qkv(x)
            query, key = (_turned(one, angle) for one in (query, key))
            return self.out(merge(by_hand(query, key, value, (distance >= 0) & (distance < 4))))

    return Layer()


def _turned(x, angle):
    one, two = x.chunk(2, -1)
    return torch.cat([one * angle.cos() - two * angle.sin(), two * angle.cos() + one * angle.sin()], -1)


@trap()
def attention_both_ways_that_can_go_on_token_by_token():
    class Layer(Projections):
        def forward(self, x, incremental_state=None, attn_mask=None):
            query, key, value = self.qkv(x)
            if incremental_state is not None:
                if "key" in incremental_state:
                    key = torch.cat([incremental_state["key"], key], 2)
                    value = torch.cat([incremental_state["value"], value], 2)
                incremental_state["key"], incremental_state["value"] = key, value
            return self.out(merge(by_hand(query, key, value, attn_mask)))

    return Layer()


@trap(layout="time first", mask="mask:hide")
def queries_of_its_own_that_read_what_an_encoder_made_of_the_tokens():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = (kind(16, 4, 32) for kind in _LAYERS)
            self.own = nn.Parameter(torch.randn(5, 1, 16))

        def forward(self, src, mask=None):
            memory = self.encoder(src, src_key_padding_mask=mask)
            return self.decoder(self.own.expand(-1, src.size(1), -1), memory, memory_key_padding_mask=mask)

    return Layer()


_LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


@trap(length=16)
def shifted_windows_of_a_picture_that_hide_with_minus_a_hundred():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.projected, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
            row = torch.tensor([0, 0, 1, 2])
            part = self.windows((row[:, None] * 3 + row)[None, ..., None])[..., 0]
            self.register_buffer("hide", part[:, :, None] != part[:, None])

        def windows(self, x):
            return x.unflatten(2, (2, 2)).unflatten(1, (2, 2)).transpose(2, 3).reshape(-1, 4, x.size(-1))

        def forward(self, x):
            assert x.size(1) == 16
            rolled = self.windows(x.unflatten(1, (4, 4)).roll((-1, -1), (1, 2)))
            query, key, value = (split(one, 4) for one in self.projected(rolled).chunk(3, -1))
            scores = (query @ key.mT / 2).unflatten(0, (-1, 4)).masked_fill(self.hide[:, None], -100.0)
            seen = self.out(merge(scores.flatten(0, 1).softmax(-1) @ value))
            seen = seen.reshape(-1, 2, 2, 2, 2, 16).transpose(2, 3).reshape(-1, 4, 4, 16)
            return x + seen.roll((1, 1), (1, 2)).flatten(1, 2)

    return Layer()
