"""A record that the tests of views share."""

import numpy as np
import pytest

from edgewise.graphs import causal
from edgewise.records import Array, Call, Record, Site


@pytest.fixture
def calls():
    """Two layers, four heads in two groups, twelve tokens."""
    random = np.random.default_rng(0)

    def array(*shape):
        return Array.of(random.standard_normal(shape).astype(np.float32))

    made = []
    for layer in range(2):
        site = Site(f"h.{layer}.attn", layer, "self", 4, 2, 8)
        q, k, v, out = array(1, 4, 12, 8), array(1, 2, 12, 8), array(1, 2, 12, 8), array(1, 4, 12, 8)
        made.append(Call(site, 0, "torch: sdpa", q, k, v, out, 8**-0.5, graph=causal()))
    return tuple(made)


@pytest.fixture
def shown(calls):
    words = ("the", " cat", " sat", " on", " the", " mat", " and", " the", " cat", "</script><img onerror=x>", "→", "é")
    return Record(calls, tokens=(words,), target="a <model>")
