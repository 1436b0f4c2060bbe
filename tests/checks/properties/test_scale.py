"""Factors of query · key that are not 1/√width."""

import pytest
import torch.nn.functional as F

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer

PROPERTY = next(one for one in PROPERTIES if one.name == "scale")


def in_layer(attention, channels=24, heads=3):
    class Simple(Layer):
        def forward(self, x):
            return self.mixed(attention(*self.projected(x)))

    return Simple(channels, heads)


def by_hand(scale):
    return lambda q, k, v: (q @ k.mT * scale(q, k)).softmax(-1) @ v


def fused(scale):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=scale(q, k))


def width(q):
    return q.shape[-1]


WRONG = {
    "model": ("I1", "model's width", lambda q, k: (width(q) * q.shape[1]) ** -0.5),
    "keys": ("I1", "number of keys", lambda q, k: k.shape[2] ** -0.5),
    "heads": ("I1", "number of heads", lambda q, k: q.shape[1] ** -0.5),
    "twice": ("I2", "twice", lambda q, k: 1 / width(q)),
    "inverse": ("I3", "inverse", lambda q, k: width(q) ** 0.5),
    "missing": ("I3", "not scaled", lambda q, k: 1.0),
    "constant": ("I3", "constant", lambda q, k: 0.2),
    "half": ("I3", "only one of query and key", lambda q, k: width(q) ** -0.25),
}
RIGHT = {
    "by_hand": by_hand(lambda q, k: width(q) ** -0.5),
    "fused": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "queries_first": lambda q, k, v: ((q * width(q) ** -0.5) @ k.mT).softmax(-1) @ v,
    "shared_between_both": lambda q, k, v: ((q * width(q) ** -0.25) @ (k * width(q) ** -0.25).mT).softmax(-1) @ v,
    "soft_cap": lambda q, k, v: ((q @ k.mT * width(q) ** -0.5 / 5).tanh() * 5).softmax(-1) @ v,
    "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("made", [by_hand, fused])
@pytest.mark.parametrize("where", ["function", "layer"])
def test_a_wrong_factor_is_named(observed, name, made, where):
    kind, words, scale = WRONG[name]
    attention = made(scale)
    found = observed(attention if where == "function" else in_layer(attention), only=[PROPERTY.name])
    assert found
    assert {one.kind for one in found} == {kind}, found
    assert words in found[0].likely


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("where", ["function", "layer"])
def test_the_right_factor_is_right(observed, name, where):
    assert not observed(RIGHT[name] if where == "function" else in_layer(RIGHT[name]), only=[PROPERTY.name])


@pytest.mark.parametrize("channels", [16, 24])
def test_a_scale_before_the_fused_function_is_a_second_one(observed, channels):
    layer = in_layer(
        lambda q, k, v: F.scaled_dot_product_attention(q * width(q) ** -0.5, k, v), channels, channels // 4
    )
    assert {one.kind for one in observed(layer, only=[PROPERTY.name])} == {"I2"}


def test_another_scale_is_right_where_it_is_declared(observed):
    attention = by_hand(lambda q, k: 1.0)
    for target in (attention, in_layer(attention)):
        assert not observed(target, only=[PROPERTY.name], scale=1.0)
        assert {one.kind for one in observed(target, only=[PROPERTY.name], scale=0.5)} == {"I3"}


def test_one_of_two_ways_that_scales_otherwise_is_told_on_that_way(observed):
    class Two(Layer):
        def forward(self, x, weights=False):
            query, key, value = self.projected(x)
            if not weights:
                return self.mixed(F.scaled_dot_product_attention(query, key, value))
            shares = (query @ key.mT * 0.3).softmax(-1)
            return self.mixed(shares @ value), shares

    found = observed(Two(), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"I4"}
    assert {one.route.weights for one in found} == {True}
    found = observed(Two(), only=[PROPERTY.name], scale=0.3)
    assert {one.kind for one in found} == {"I4"}
    assert {one.route.weights for one in found} == {False}


def test_another_factor_of_normalised_queries_is_worth_a_look(observed):
    layer = in_layer(lambda q, k, v: ((F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT) * 10).softmax(-1) @ v)
    found = observed(layer, only=[PROPERTY.name])
    assert found
    assert all(one.warning for one in found)


def test_the_example_is_caught_and_its_right_version_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    assert set(named(broken.target, **broken.declared)) == {("scale", "I1")}
    assert not named(right.target, **right.declared)
