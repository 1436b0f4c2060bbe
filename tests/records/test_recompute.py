"""Every stage, row and rectangle that is computed again is the reference's."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgewise.errors import ArgumentError
from edgewise.graphs import causal, documents, full, keys, window
from edgewise.records import Array, Call, Kept, row, tile

STAGES = ("raw", "scaled", "masked", "weights", "out")


def close(found: np.ndarray, wanted: torch.Tensor, dtype: torch.dtype = torch.float32) -> None:
    rounding = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(dtype)
    more = {} if rounding is None else {"rtol": rounding, "atol": rounding}
    torch.testing.assert_close(torch.from_numpy(np.array(found)), wanted, check_dtype=False, equal_nan=True, **more)


@st.composite
def described(draw: st.DrawFn) -> dict[str, Any]:
    batch, groups, times = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    heads, query, key = groups * times, draw(st.integers(1, 9)), draw(st.integers(1, 9))
    ids = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 2, (batch, key))
    maybe = lambda size: draw(st.sampled_from([1, size]))  # noqa: E731
    graphs = [
        None, full(), causal(), window(2), causal() & keys(ids), documents(ids), ~causal(), keys(ids[:1]),
        torch.rand(maybe(batch), maybe(heads), maybe(query), key) > 0.5,
    ]  # fmt: skip
    return {
        "batch": batch, "heads": heads, "groups": groups, "query": query, "key": key,
        "width": draw(st.integers(1, 5)), "channels": draw(st.integers(1, 5)),
        "graph": draw(st.sampled_from(graphs)),
        "dtype": draw(st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16])),
        "bias": draw(st.sampled_from([None, torch.randn(maybe(batch), maybe(heads), maybe(query), maybe(key))])),
        "soft_cap": draw(st.sampled_from([None, 1.5])),
        "sinks": draw(st.booleans()),
        "scale": draw(st.sampled_from([0.3, 1.0, -2.0])),
        "seed": draw(st.integers(0, 99)),
    }  # fmt: skip


@given(given=described(), data=st.data())
def test_every_stage_of_every_part_is_the_references(make: Any, given: dict[str, Any], data: st.DataObject) -> None:
    pair = make.pair(**given)
    call, batch = pair.call, data.draw(st.integers(0, given["batch"] - 1))
    head = data.draw(st.integers(0, given["heads"] - 1))
    lines, columns = (
        slice(*sorted(data.draw(st.tuples(st.integers(0, size), st.integers(0, size)))))
        for size in (given["query"], given["key"])
    )
    for name in STAGES:
        wanted = getattr(pair.stages, name)[batch, head]
        rounded = given["dtype"] if name == "out" else torch.float32
        close(tile(call, batch, head, stage=name), wanted, rounded)
        part = wanted[lines] if name == "out" else wanted[lines, columns]
        close(tile(call, batch, head, lines, columns, name), part, rounded)
        close(row(call, batch, head, given["query"] - 1, name), wanted[-1], rounded)


def test_float64_arithmetic_is_the_references_in_float64(make: Any) -> None:
    low, high = make.pair(dtype=torch.float32, graph=causal()), make.pair(dtype=torch.float64, graph=causal())
    # The same numbers, drawn in float32 in both.
    for name in STAGES[:-1]:
        found = tile(low.call, 1, 2, stage=name, precision="float64")
        assert found.dtype == np.float64
        torch.testing.assert_close(torch.from_numpy(found), getattr(high.stages, name)[1, 2], rtol=1e-12, atol=1e-12)


def test_a_row_that_sees_nothing_has_no_weights_and_takes_home_zeros(make: Any) -> None:
    call = make.call(query=7, key=5, graph=causal(), sinks=True)
    assert (row(call, 0, 0, 0) == 0).all()
    assert (row(call, 0, 0, 0, "out") == 0).all()
    assert (row(call, 0, 0, 0, "masked") == -np.inf).all()


def test_nan_and_infinity_go_where_the_reference_takes_them(make: Any) -> None:
    pair = make.pair(width=1)
    query = pair.call.query.bits.copy()
    query[0, 0, :3, 0] = [np.nan, np.inf, -np.inf]
    call = Call(**{**vars(pair.call), "query": Array.of(query)})
    from edgewise.attention import reference

    stages = reference(
        *(torch.from_numpy(np.array(one.bits)) for one in (call.query, call.key, call.value)), scale=call.scale
    )
    for name in STAGES:
        close(tile(call, 0, 0, stage=name), getattr(stages, name)[0, 0])


def test_what_others_call_a_stage_is_understood(make: Any) -> None:
    call = make.call(graph=causal())
    np.testing.assert_array_equal(tile(call, 0, 1, stage="pattern"), tile(call, 0, 1, stage="weights"))


def test_numbers_below_zero_count_from_the_end(make: Any) -> None:
    call = make.call(graph=causal())
    np.testing.assert_array_equal(row(call, -1, -1, -1), row(call, 1, 3, 4))


def test_chosen_heads_and_rows_are_the_same_as_among_all(make: Any) -> None:
    bias = torch.randn(1, 4, 5, 7)
    whole = make.call(graph=causal(), bias=bias, sinks=True)
    heads, rows = [1, 3], [0, 3, 4]
    some = {
        "query": Array.of(whole.query.bits[:, heads][:, :, rows]),
        "out": Array.of(whole.out.bits[:, heads][:, :, rows]),
        "bias": Array.of(bias.numpy()[:, heads][:, :, rows]),
        "sinks": Array.of(whole.sinks.bits[heads]),
        "kept": Kept(tuple(heads), tuple(rows), 5),
    }
    call = Call(**{**vars(whole), **some})
    assert (call.heads, call.rows, call.keys) == ((1, 3), 5, 7)
    for name in STAGES:
        np.testing.assert_array_equal(row(call, 1, 3, 4, name), row(whole, 1, 3, 4, name))
        np.testing.assert_array_equal(
            tile(call, 0, 1, slice(3, 5), stage=name), tile(whole, 0, 1, slice(3, 5), stage=name)
        )
    for wrong, says in (
        (
            lambda: row(call, 0, 2, 0),
            "head 2 of layers.0.attention was not kept; the record holds heads 1, 3: "
            "trace again with that head among heads=",
        ),
        (
            lambda: tile(call, 0, 1, slice(2, 5)),
            "row 2 of layers.0.attention was not kept; the record holds rows 0, 3, 4 of 5: "
            "trace again with that row among rows=",
        ),
    ):
        with pytest.raises(ArgumentError, match=f"^{re.escape(says)}$"):
            wrong()


def test_only_the_key_value_heads_of_chosen_heads_are_kept(make: Any) -> None:
    whole = make.call()
    parts = {name: Array.of(getattr(whole, name).bits[:, [2]]) for name in ("query", "out")}
    parts |= {name: Array.of(getattr(whole, name).bits[:, [1]]) for name in ("key", "value")}
    call = Call(**{**vars(whole), **parts, "kept": Kept((2,))})
    np.testing.assert_array_equal(tile(call, 0, 2), tile(whole, 0, 2))


def test_a_query_without_a_key_meets_what_the_model_has_there(make: Any) -> None:
    edges = torch.ones(1, 1, 5, 7, dtype=torch.bool)
    edges[0, 0, 2] = False
    call = make.call(graph=edges)
    np.testing.assert_array_equal(row(call, 0, 0, 2), np.zeros(7))
    lowest = Call(**{**vars(call), "hidden": float(np.finfo(np.float32).min)})
    np.testing.assert_allclose(row(lowest, 0, 0, 2), np.full(7, 1 / 7), rtol=1e-6)
    low = Call(**{**vars(call), "hidden": -1e4})
    scores = row(call, 0, 0, 2, "scaled", precision="float64")
    np.testing.assert_allclose(row(low, 0, 0, 2, precision="float64"), np.exp(scores) / np.exp(scores).sum(), rtol=1e-6)
    assert np.isnan(row(Call(**{**vars(call), "hidden": np.nan}), 0, 0, 2)).all()
    np.testing.assert_array_equal(row(low, 0, 0, 1), row(call, 0, 0, 1))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda call: row(call, 0, 0, 0, "sums"),
            "wanted the name of an axis or a stage; got 'sums'; ours are allowed",
        ),
        (
            lambda call: row(call, 0, 0, 0, "key"),
            "stage must be one of raw, scaled, masked, weights, out; got 'key'",
        ),
        (lambda call: row(call, 2, 0, 0), "batch must be from 0 to 1 at layers.0.attention; got 2"),
        (lambda call: row(call, 0, 4, 0), "head must be from 0 to 3 at layers.0.attention; got 4"),
        (lambda call: row(call, 0, 0, 5), "query must be from 0 to 4 at layers.0.attention; got 5"),
        (
            lambda call: tile(call, 0, 0, slice(0, 4, 2)),
            "rows must be neighbours, a slice of step 1; got step 2",
        ),
        (
            lambda call: tile(call, 0, 0, precision="float16"),
            'precision must be "float32" or "float64"; got \'float16\'',
        ),
    ],
)
def test_a_wrong_question_is_answered_in_words(make: Any, wrong: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{re.escape(says)}"):
        wrong(make.call())
