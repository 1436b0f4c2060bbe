"""K: positions that turn, count or add up wrongly."""

import torch
from torch import nn

from battery.case import HEADS, Projections, by_hand, case, merge, triangle
from edgewise import causal


def halves(x, angles):
    """Rotate pairs (i, i + width/2)."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def neighbours(x, angles):
    """Rotate pairs (2i, 2i + 1)."""
    a, b = x[..., 0::2], x[..., 1::2]
    turned = a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()
    return torch.stack(turned, -1).flatten(-2)


def angles_of(positions, width, base=10000.0):
    """(…, width/2)"""
    rate = base ** (-torch.arange(0, width, 2) / width)
    return positions[..., None] * rate


def _rotary(turn_query, turn_key, positions=None, value=None, norm=False):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            where = torch.arange(x.size(1)) if positions is None else positions(x, q)
            angles = angles_of(where.to(x.dtype), q.size(-1))
            q, k = turn_query(q, angles), turn_key(k, angles)
            v = v if value is None else value(v, angles)
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)))))

    return Layer()


@case("position", "K1", graph=causal())
def queries_rotated_in_halves_and_keys_in_neighbours(ok):
    return _rotary(halves, halves if ok else neighbours)


@case("position", "K1", graph=causal())
def keys_rotated_the_other_way(ok):
    return _rotary(halves, halves if ok else lambda x, angles: halves(x, -angles))


@case("position", "K1", graph=causal())
def values_rotated_instead_of_keys(ok):
    if ok:
        return _rotary(halves, halves)
    return _rotary(halves, lambda x, _: x, value=halves)


@case("position", "K2", graph=causal())
def turned_by_the_head_instead_of_the_token(ok):
    def positions(x, q):
        return torch.arange(x.size(1)) if ok else torch.arange(HEADS)[:, None]

    return _rotary(halves, halves, positions)


@case("position", "K2", "E1", graph=causal(), other=("batch-leak",))
def turned_by_the_row_of_the_batch(ok):
    def positions(x, q):
        return torch.arange(x.size(1)) if ok else torch.arange(x.size(0))[:, None, None]

    return _rotary(halves, halves, positions)


@case("position", "K3", graph=causal())
def angles_in_half_precision(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            where = torch.arange(x.size(1), dtype=torch.float32 if ok else torch.bfloat16)
            angles = angles_of(where, q.size(-1)).to(where.dtype)
            q, k = halves(q, angles.to(q.dtype)), halves(k, angles.to(k.dtype))
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)))))

    return Layer()


@case("position", "K4", graph=causal())
def token_positions_that_count_the_padding(ok):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places, self.layer = nn.Embedding(50, 16), nn.Embedding(64, 16), Projections()

        def forward(self, input_ids, attention_mask=None):
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
            places = (mask.cumsum(-1) - 1).clamp(min=0) if ok else torch.arange(input_ids.size(1))
            x = self.tokens(input_ids) + self.places(places)
            keep = (triangle(x.size(1)) & mask.bool()[:, None, None, :]) | torch.eye(x.size(1)).bool()
            return x + self.layer.out(merge(by_hand(*self.layer.qkv(x), keep)))

    return Model()


def _biased(bias):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            index = torch.arange(x.size(1))
            far = (index[:, None] - index[None]).to(x.dtype)
            slopes = (2.0 ** (-2 * torch.arange(1, HEADS + 1)))[:, None, None].to(x.dtype)
            scores = q @ k.transpose(-2, -1) / 2 + bias(slopes, far)
            scores = scores.masked_fill(~triangle(x.size(1)), float("-inf"))
            return self.out(merge(scores.softmax(-1) @ v))

    return Layer()


@case("position", "K5", graph=causal())
def distance_is_rewarded(ok):
    return _biased(lambda slopes, far: (-slopes if ok else slopes) * far)


@case("position", "K5", "K2", graph=causal(), positions=True)
def a_bias_that_grows_with_the_query_alone(ok):
    return _biased(lambda slopes, far: -slopes * (far if ok else torch.arange(far.size(0))[:, None].to(far.dtype)))


@case("position", "K5", "K2", graph=causal(), positions=True)
def no_bias_where_order_is_claimed(ok):
    return _biased(lambda slopes, far: -slopes * far * ok)
