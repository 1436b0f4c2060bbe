"""The arithmetic of one cell follows line by line to the last digit, and is the reference's."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgewise.errors import ArgumentError
from edgewise.graphs import causal, full, window
from edgewise.records import Array, Call, Site, cell, row


@given(
    graph=st.sampled_from([None, full(), causal(), window(2), torch.rand(2, 1, 5, 7) > 0.4]),
    soft_cap=st.sampled_from([None, 0.7]),
    bias=st.sampled_from([None, torch.randn(1, 4, 5, 7), torch.randn(2, 1, 1, 7)]),
    sinks=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float16, torch.float64]),
    place=st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 4), st.integers(0, 6)),
)
def test_every_line_follows_from_those_above_it(make: Any, place: tuple[int, int, int, int], **given: Any) -> None:
    pair = make.pair(**given)
    one = cell(pair.call, *place)
    assert (one.batch, one.head, one.row, one.column) == place
    np.testing.assert_array_equal(one.terms, one.query * one.key)
    assert one.raw == one.terms.sum()
    assert one.scaled == one.raw * one.scale
    cap = one.soft_cap
    assert one.capped == (one.scaled if cap is None else np.tanh(one.scaled / cap) * cap)
    assert one.score == one.capped + (one.bias or 0)
    assert one.exp == (np.exp(one.score - one.largest) if one.allowed else 0)
    assert one.weight == (one.exp / one.total if one.total else 0)
    np.testing.assert_array_equal(one.share, one.weight * one.value)
    cells = [cell(pair.call, *place[:3], key) for key in range(7)]
    np.testing.assert_allclose(one.total, sum(other.exp for other in cells) + (one.sink or 0), rtol=1e-14)
    np.testing.assert_allclose(one.out, sum(other.share for other in cells), rtol=1e-12, atol=1e-14)
    batch, head, query, key = place
    for name, mine in (("raw", one.raw), ("scaled", one.score), ("weights", one.weight)):
        np.testing.assert_allclose(mine, getattr(pair.stages, name)[batch, head, query, key], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(mine, row(pair.call, *place[:3], name, precision="float64")[key], rtol=1e-12)
    assert one.allowed == bool(pair.stages.allowed[batch, head, query, key])


def test_a_row_that_sees_nothing_has_a_cell_of_zeros(make: Any) -> None:
    one = cell(make.call(query=7, key=5, graph=causal()), 0, 0, 0, 3)
    assert (one.allowed, one.exp, one.total, one.weight, one.largest) == (False, 0, 0, 0, 0)
    assert (one.share == 0).all()
    assert (one.out == 0).all()


def test_a_row_that_sees_nothing_has_what_the_model_adds(make: Any) -> None:
    call = Call(**{**vars(make.call(query=7, key=5, graph=causal())), "hidden": -1e4})
    one = cell(call, 0, 0, 0, 3)
    assert (one.allowed, one.hidden, one.exp) == (False, -1e4, np.exp(one.score - 1e4 - one.largest))
    np.testing.assert_allclose(one.weight, row(call, 0, 0, 0, precision="float64")[3], rtol=1e-9)
    assert f"the row has no edge, so the model adds -10000 to all: exp({one.score:.6g} + -10000 − " in str(one)
    assert cell(call, 0, 0, 6, 4).hidden is None


def test_the_arithmetic_reads_as_one_would_write_it() -> None:
    drawn = [np.array(numbers, np.float32)[None, None] for numbers in ([[1, 2]], [[3, 1], [0.5, 0]], [[8, 0], [0, 8]])]
    query, key, value = map(Array.of, drawn)
    call = Call(Site("a", 0, "self", 1, 1, 2), 0, "made up", query, key, value, query, 0.5)
    assert str(cell(call, 0, 0, 0, 1)) == (
        "query 0 reads key 1 (head 0, sequence 0)\n"
        "raw      1·0.5 + 2·0 = 0.5\n"
        "scaled   0.5 × 0.5 = 0.25\n"
        "exp      exp(0.25 − 2.5) = 0.105399, the row's largest taken away\n"
        "weight   0.105399 / 1.1054 = 0.0953495\n"
        "share    0.0953495 × value = (0, 0.7628) of out (7.237, 0.7628)"
    )
    masked = Call(**{**vars(call), "graph": ~window(1), "soft_cap": 2.0, "bias": Array.of(np.ones((1, 1, 1, 1)))})
    assert str(cell(masked, 0, 0, 0, 1)).splitlines()[3:6] == [
        "capped   2 · tanh(0.25 / 2) = 0.248706",
        "biased   0.248706 + 1 = 1.24871",
        "masked   no edge: −∞, and exp(−∞) = 0",
    ]


def test_long_vectors_are_cut_in_the_text(make: Any) -> None:
    text = str(cell(make.call(width=64, channels=64, sinks=True), 0, 0, 0, 0))
    assert " … 61 more …" in text
    assert " of it the sink's" in text


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ((0, 0, 5, 0), "query must be from 0 to 4 at layers.0.attention; got 5"),
        ((0, 0, 0, -8), "key must be from 0 to 6 at layers.0.attention; got -8"),
    ],
)
def test_a_cell_that_is_not_there_is_refused(make: Any, place: tuple[int, int, int, int], says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{re.escape(says)}$"):
        cell(make.call(), *place)
