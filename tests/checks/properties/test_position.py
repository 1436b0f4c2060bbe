"""Positions in the wrong tensor, along the wrong axis, with too few digits, or counting pads."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from edgewise.attention.positions import slopes
from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

PROPERTY = next(one for one in PROPERTIES if one.name == "position")


def angles(length, width, dtype=torch.float64, start=0):
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.arange(start, start + length).to(dtype)[:, None] * rates.to(dtype)


def halves(x, angle, doubled=None):
    angle = torch.cat([angle, angle], -1) if doubled is None else doubled(angle)
    first, second = x.chunk(2, -1)
    return x * angle.cos().to(x) + torch.cat([-second, first], -1) * angle.sin().to(x)


def neighbours(x, angle, doubled=None):
    angle = angle.repeat_interleave(2, -1) if doubled is None else doubled(angle)
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * angle.cos().to(x) + turned * angle.sin().to(x)


def twice(angle):
    return torch.cat([angle, angle], -1)


def spread(angle):
    return angle.repeat_interleave(2, -1)


def turned(turn, fused=True, edges=True, channels=16, heads=4):
    class Turned(Layer):
        def forward(self, x):
            query, key, value = self.projected(x)
            query, key, value = turn(query, key, value, angles(x.shape[1], query.shape[-1]))
            if fused:
                return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=edges))
            return self.mixed(attended(query, key, value, causal(x.shape[1]) if edges else None))

    return Turned(channels, heads)


def by_head(q, k, v, angle):
    angle = angles(q.shape[1], q.shape[-1])[:, None]
    return halves(q, angle), halves(k, angle), v


def by_row(q, k, v, angle):
    angle = angles(q.shape[0], q.shape[-1])[:, None, None]
    return halves(q, angle), halves(k, angle), v


def coarse(dtype):
    def turn(q, k, v, angle):
        angle = angles(q.shape[2], q.shape[-1], dtype)
        return halves(q, angle), halves(k, angle), v

    return turn


def complexes(q, k, v, angle):
    turn = torch.polar(torch.ones_like(angle), angle)

    def one(x):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * turn).flatten(-2)

    return one(q), one(k), v


def warmer(q, k, v, angle):
    grown = 1 + 0.1 * torch.arange(q.shape[2]).to(q)[:, None]
    return halves(q, angle) * grown, halves(k, angle), v


WRONG = {
    "halves_as_neighbours": ("K1", lambda q, k, v, a: (halves(q, a, spread), halves(k, a, spread), v)),
    "neighbours_as_halves": (
        "K1",
        lambda q, k, v, a: (neighbours(q, a, twice), neighbours(k, a, twice), v),
    ),
    "each_its_own_pairing": ("K1", lambda q, k, v, a: (halves(q, a), neighbours(k, a), v)),
    "queries_alone": ("K1", lambda q, k, v, a: (halves(q, a), k, v)),
    "keys_alone": ("K1", lambda q, k, v, a: (q, halves(k, a), v)),
    "opposite": ("K1", lambda q, k, v, a: (halves(q, a), halves(k, -a), v)),
    "values_too": ("K1", lambda q, k, v, a: (halves(q, a), halves(k, a), halves(v, a))),
    "values_in_place_of_keys": ("K1", lambda q, k, v, a: (halves(q, a), k, halves(v, a))),
    "by_head": ("K2", by_head),
    "by_row": ("K2", by_row),
    "bfloat16": ("K3", coarse(torch.bfloat16)),
    "float16": ("K3", coarse(torch.float16)),
}
RIGHT = {
    "nothing": lambda q, k, v, a: (q, k, v),
    "halves": lambda q, k, v, a: (halves(q, a), halves(k, a), v),
    "neighbours": lambda q, k, v, a: (neighbours(q, a), neighbours(k, a), v),
    "float32": coarse(torch.float32),
    "complex": complexes,
    "temperature": warmer,
}
WAYS = [{}, {"fused": False, "edges": False}, {"channels": 32, "heads": 2}]


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("way", WAYS)
def test_a_wrong_rotation_is_named(observed, name, way):
    kind, turn = WRONG[name]
    found = observed(turned(turn, **way), only=[PROPERTY.name])
    assert found
    assert {one.kind for one in found} == {kind}, found
    assert not any(one.warning for one in found)


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("way", WAYS)
def test_a_rotation_that_keeps_distances_is_right(observed, name, way):
    assert not observed(turned(RIGHT[name], **way), only=[PROPERTY.name])


def test_the_head_and_the_likely_cause_are_told(observed):
    found = observed(turned(by_head), only=[PROPERTY.name])[0]
    assert found.head == 1
    assert found.likely == "rotary on the wrong axis: the angle changes with the head"
    found = observed(turned(WRONG["opposite"][1]), only=[PROPERTY.name])[0]
    assert found.likely == "query and key are turned in opposite directions"


class Learned(Layer):
    def __init__(self, axis=1, values=True):
        super().__init__()
        self.axis, self.values, self.places = axis, values, nn.Embedding(64, 16)

    def forward(self, x):
        places = self.places(torch.arange(x.shape[self.axis]))
        y = x + (places if self.axis else places[:, None])
        query, key, value = self.projected(y)
        value = value if self.values else self.projected(x)[2]
        return self.mixed(attended(query, key, value, causal(x.shape[1])))


def test_learned_positions_along_the_batch_are_told(observed):
    assert {one.kind for one in observed(Learned(axis=0), only=[PROPERTY.name])} == {"K2"}


@pytest.mark.parametrize("values", [True, False])
def test_learned_positions_are_no_rotation(observed, values):
    assert not observed(Learned(values=values), only=[PROPERTY.name])


class Padded(Layer):
    def __init__(self, counts, edges=True, turn=None):
        super().__init__()
        self.counts, self.edges, self.turn, self.places = counts, edges, turn, nn.Embedding(64, 16)

    def forward(self, x, mask):
        places = (
            (mask.long().cumsum(-1) - 1).clamp(min=0) if self.counts else torch.arange(x.shape[1]).expand(mask.shape)
        )
        query, key, value = self.projected(x if self.turn else x + self.places(places))
        if self.turn:
            angle = angles(64, query.shape[-1])[places][:, None]
            query, key = self.turn(query, angle), self.turn(key, angle)
        keep = mask.bool()[:, None, None, :] & (causal(x.shape[1]) if self.edges else torch.ones(1, 1).bool())
        return self.mixed(attended(query, key, value, keep | torch.eye(x.shape[1]).bool()))


def test_positions_that_count_pads_are_told(observed):
    found = observed(Padded(counts=False), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"K4"}
    assert {one.route.mask for one in found} == {"left"}
    assert "position ids" in found[0].likely


@pytest.mark.parametrize(
    "layer",
    [lambda: Padded(counts=True), lambda: Padded(False, turn=halves), lambda: Padded(counts=False, edges=False)],
)
def test_counted_and_turned_positions_and_encoders_are_right(observed, layer):
    assert not observed(layer(), only=[PROPERTY.name])


def biased(make, way="by hand"):
    def attention(q, k, v):
        index = torch.arange(q.shape[2])
        bias = make((index[:, None] - index[None]).to(q), torch.tensor(slopes(q.shape[1]))[:, None, None].to(q))
        if way == "fused":
            mask = bias.masked_fill(~causal(q.shape[2]), float("-inf"))
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(*q.shape[:2], -1, -1))
        scores = q @ k.mT * q.shape[-1] ** -0.5 + bias
        return scores.masked_fill(~causal(q.shape[2]), float("-inf")).softmax(-1) @ v

    class Biased(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x)))

    return attention if way == "function" else Biased()


BENT = {
    "rises": lambda far, slope: slope * far,
    "reversed": lambda far, slope: -slope.flip(0) * far,
    "one_for_all": lambda far, slope: -0.25 * far.expand(len(slope), -1, -1),
    "scaled": lambda far, slope: -slope * far * 0.5,
    "of_eight_heads": lambda far, slope: -torch.tensor(slopes(8))[: len(slope), None, None] * far,
    "in_a_line": lambda far, slope: -(torch.arange(1, len(slope) + 1) / 4)[:, None, None] * far,
    "with_the_position": lambda far, slope: -slope * far * torch.arange(len(far))[:, None],
}
STRAIGHT = {
    "alibi": lambda far, slope: -slope * far,
    "both_ways": lambda far, slope: -slope * far.abs(),
    "by_key": lambda far, slope: slope * torch.arange(far.shape[0]),
    "none": lambda far, slope: 0 * far,
    "buckets": lambda far, slope: torch.tensor([0.3, 0.1, -0.2, 0.5])[far.long().clamp(0, 3)],
}


@pytest.mark.parametrize("name", BENT)
@pytest.mark.parametrize("way", ["by hand", "fused", "function"])
def test_a_wrong_bias_is_named(observed, name, way):
    found = observed(biased(BENT[name], way), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"K5"}


@pytest.mark.parametrize("name", STRAIGHT)
@pytest.mark.parametrize("way", ["by hand", "fused", "function"])
def test_a_bias_by_distance_is_right(observed, name, way):
    assert not observed(biased(STRAIGHT[name], way), only=[PROPERTY.name])


def test_order_that_is_declared_must_matter(observed):
    layer = turned(RIGHT["nothing"])
    assert {one.kind for one in observed(layer, only=[PROPERTY.name], positions=True)} == {"K2"}
    assert not observed(turned(RIGHT["halves"]), only=[PROPERTY.name], positions=True)


def test_the_example_is_caught_and_its_right_version_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    assert set(named(broken.target, **broken.declared)) == {("position", "K4")}
    assert not named(right.target, **right.declared)
