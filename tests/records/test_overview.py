"""A picture of a head, at any zoom, is the matrix summed up pixel by pixel."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgewise.errors import ArgumentError
from edgewise.graphs import causal, chunks, documents, keys, window
from edgewise.records import Call, Overview, overview, tile


def summed(call: Call, head: int, stage: str, seen: Overview) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest, mean and edges of the pixels of a picture, from the whole matrix."""
    cells = tile(call, 0, head, stage=stage, precision="float64")
    edges = tile(call, 0, head, stage="masked", precision="float64") != -np.inf
    (down, across), nothing = seen.step, (0, 0) if stage == "weights" else (-np.inf, np.nan)
    lines = range(seen.rows.start, seen.rows.stop, down)
    columns = range(seen.keys.start, seen.keys.stop, across)
    shape = (len(lines), len(columns))
    largest, mean, count = np.full(shape, nothing[0], float), np.full(shape, nothing[1], float), np.zeros(shape, int)
    for i, row in enumerate(lines):
        for j, key in enumerate(columns):
            part = (slice(row, row + down), slice(key, key + across))
            kept = cells[part][edges[part]]
            count[i, j] = kept.size
            if kept.size:
                largest[i, j], mean[i, j] = kept.max(), kept.mean()
    return largest, mean, count


def holds(call: Call, head: int, stage: str, seen: Overview) -> None:
    largest, mean, count = summed(call, head, stage, seen)
    np.testing.assert_array_equal(seen.edges, count)
    np.testing.assert_allclose(seen.max, largest, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(seen.mean, mean, rtol=2e-5, atol=2e-6)


@st.composite
def described(draw: st.DrawFn) -> dict[str, Any]:
    query, key = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    ids = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 2, (2, key))
    graphs = [
        None, causal(), window(3), causal() & keys(ids), documents(ids[0]), causal() & (window(2) | keys(ids[:1])),
        chunks(5), torch.rand(2, 1, query, key) > 0.5, torch.rand(1, 4, 1, key) > 0.5, torch.rand(2, 1, query, 1) > 0.5,
    ]  # fmt: skip
    return {
        "query": query, "key": key, "graph": draw(st.sampled_from(graphs)),
        "bias": draw(st.sampled_from([None, torch.randn(1, 4, query, key)])),
        "soft_cap": draw(st.sampled_from([None, 1.5])), "sinks": draw(st.booleans()),
        "dtype": draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float64])), "seed": draw(st.integers(0, 9)),
    }  # fmt: skip


@given(given=described(), stage=st.sampled_from(["weights", "scaled", "raw"]), data=st.data())
def test_every_picture_and_every_zoom_is_the_matrix_summed_up(
    make: Any, monkeypatch_tiles: None, given: dict[str, Any], stage: str, data: st.DataObject
) -> None:
    call = make.call(**given)

    def rectangle() -> tuple[slice, slice]:
        starts = [data.draw(st.integers(0, size - 1)) for size in (call.rows, call.keys)]
        ends = [
            data.draw(st.integers(start + 1, size)) for start, size in zip(starts, (call.rows, call.keys), strict=True)
        ]
        return slice(starts[0], ends[0]), slice(starts[1], ends[1])

    shapes = st.tuples(st.integers(1, 12), st.integers(1, 12))
    first = data.draw(st.booleans())
    seen = overview(call, 1, *(rectangle() if first else (None, None)), data.draw(shapes), stage=stage)
    holds(call, 1, stage, seen)
    for _ in range(2):
        (rows, columns), shape = rectangle(), data.draw(shapes)
        seen = seen.zoom(rows, columns, shape)
        assert seen.rows.start <= rows.start
        assert seen.rows.stop >= rows.stop
        assert seen.keys.start <= columns.start
        assert seen.keys.stop >= columns.stop
        assert all(have <= most for have, most in zip(seen.max.shape, shape, strict=True)) or max(seen.step) > 32
        holds(call, 1, stage, seen)


@pytest.fixture(scope="module")
def monkeypatch_tiles() -> Any:
    """Tiles of a few cells, so that small matrices have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgewise.records.grid.ROWS", 8)
        patch.setattr("edgewise.records.band.KEYS", 8)
        yield


def test_where_a_pixel_is_a_cell_the_picture_is_the_matrix(make: Any) -> None:
    call = make.call(query=30, key=30, graph=causal())
    seen = overview(call, 2)
    assert seen.step == (1, 1)
    np.testing.assert_allclose(seen.max, tile(call, 0, 2), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(seen.max, seen.mean, rtol=1e-5, atol=1e-6)
    assert (seen.max[~causal().dense(30, 30)] == 0).all()


def test_the_forbidden_half_is_not_computed(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    call, cells = make.long(4096, causal()), []
    from edgewise.records.head import Head

    plain = Head.raw
    monkeypatch.setattr(Head, "raw", lambda self, rows, keys, room=None: (
        cells.append(len(rows) * len(range(*keys.indices(4096)))), plain(self, rows, keys, room))[1])  # fmt: skip
    overview(call, 0)
    assert sum(cells) < 0.66 * 4096**2


def test_a_window_costs_what_the_window_holds(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    call, cells = make.long(8192, causal() & window(100)), []
    from edgewise.records.head import Head

    plain = Head.raw
    monkeypatch.setattr(Head, "raw", lambda self, rows, keys, room=None: (
        cells.append(len(rows) * len(range(*keys.indices(8192)))), plain(self, rows, keys, room))[1])  # fmt: skip
    overview(call, 0)
    assert sum(cells) < 0.2 * 8192**2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda call: overview(call, 0, stage="out"), "a picture is of raw, scaled, weights; got 'out'"),
        (
            lambda call: overview(call, 0, slice(3, 3)),
            "a picture wants a row, a key and a pixel at least; got rows slice(3, 3, None), keys None and "
            "shape (512, 512)",
        ),
        (lambda call: overview(call, 9), "head must be from 0 to 3 at layers.0.attention; got 9"),
    ],
)
def test_a_wrong_question_is_answered_in_words(make: Any, wrong: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{re.escape(says)}"):
        wrong(make.call())
