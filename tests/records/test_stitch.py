"""Prefill and steps of one site, stitched, are the call that reads the whole text at once."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgewise.attention import attend
from edgewise.errors import ArgumentError
from edgewise.graphs import Graph, causal, full, keys, window
from edgewise.records import Array, Call, Kept, Record, Site, open_record, save, stitched, tile

SITE = Site("a", 0, "self", 4, 2, 3)
PARTS = (6, 1, 1, 3, 1)  # queries of each call: a prefill, steps, and a chunk in between
TOTAL = sum(PARTS)


def drawn() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 4, TOTAL, 3), torch.randn(2, 2, TOTAL, 3), torch.randn(2, 2, TOTAL, 5)


def parts(graph: Any, held: int | None = None, fixed: int = 0, **more: Any) -> list[Call]:
    """The calls of a text that is read part by part; a cache that holds `held` keys before each, or has `fixed`."""
    (q, k, v), calls, at = drawn(), [], 0
    for index, many in enumerate(PARTS):
        end = at + many
        begin = 0 if held is None else max(0, at - held)
        key, value = (one[:, :, begin:end] for one in (k, v))
        if fixed:
            key, value = (torch.nn.functional.pad(one, (0, 0, 0, fixed - end)) for one in (key, value))
        edges = graph(at, end, begin, key.shape[2])
        query = q[:, :, at:end]
        given = {"graph": edges} if edges is None or isinstance(edges, Graph) else {"allowed": Array.of(edges.numpy())}
        calls.append(
            Call(
                SITE,
                index,
                "made up",
                *(Array.of(one.numpy().copy()) for one in (query, key, value)),
                Array.of(attend(query, key, value, edges, scale=0.5).numpy()),
                0.5,
                **given,
                cached=at - begin,
                first=at,
                residual=index / 10,
                **more,
            )
        )
        at = end
    return calls


def whole(graph: Any) -> torch.Tensor:
    return attend(*drawn(), graph, scale=0.5)


@pytest.mark.parametrize(
    ("graph", "held", "fixed", "named"),
    [
        (lambda at, end, begin, size: causal(), None, 0, causal()),
        # A step that reads everything is told as full() or as no graph at all.
        (lambda at, end, begin, size: None if end - at == 1 else causal(), None, 0, causal()),
        (lambda at, end, begin, size: window(3), None, 0, window(3)),
        (lambda at, end, begin, size: window(3), 2, 0, window(3)),
        (
            lambda at, end, begin, size: causal() & keys([0, 0, *[1] * (size - 2)]),
            None,
            0,
            causal() & keys([0, 0, *[1] * (TOTAL - 2)]),
        ),
        (
            lambda at, end, begin, size: torch.ones(end, end, dtype=torch.bool).tril()[None, None, at:],
            None,
            0,
            causal(),
        ),
        (
            lambda at, end, begin, size: torch.ones(20, 20, dtype=torch.bool).tril()[None, None, at:end],
            None,
            20,
            causal(),
        ),
    ],
)
def test_stitched_calls_are_the_call_that_reads_all_at_once(
    graph: Any, held: int | None, fixed: int, named: Graph, tmp_path: Path
) -> None:
    record = Record(parts(graph, held, fixed))
    save(record, tmp_path / "a.edgewise")
    for one in (record, open_record(tmp_path / "a.edgewise")):
        found = stitched(one, "a")
        assert found.graph == named
        assert (found.rows, found.keys, found.cached, found.position, found.residual) == (TOTAL, TOTAL, 0, 0, 0.4)
        for array, wanted in zip((found.query, found.key, found.value), drawn(), strict=True):
            np.testing.assert_array_equal(array.bits, wanted.numpy())
        torch.testing.assert_close(torch.from_numpy(np.array(found.out.bits)), whole(named))
        torch.testing.assert_close(torch.from_numpy(tile(found, 1, 2, stage="out")), whole(named)[1, 2])


def test_edges_without_a_name_are_kept_dense() -> None:
    torch.manual_seed(1)
    edges = torch.rand(2, 4, TOTAL, TOTAL) > 0.3
    found = stitched(Record(parts(lambda at, end, begin, size: edges[:, :, at:end, :end].contiguous())), "a")
    assert found.graph is None
    np.testing.assert_array_equal(found.allowed.bits, (edges & seen()).numpy())
    for row in (0, 6, TOTAL - 1):
        wanted = attend(*drawn(), edges & seen(), scale=0.5)[1, 3, row]
        torch.testing.assert_close(torch.from_numpy(tile(found, 1, 3, slice(row, row + 1), stage="out")[0]), wanted)


def seen() -> torch.Tensor:
    """Which keys were there when each row was read."""
    ends = np.repeat(np.cumsum(PARTS), PARTS)
    return torch.from_numpy(np.arange(TOTAL)[None, :] < ends[:, None])


def test_parts_that_read_everything_so_far_are_kept_as_they_were() -> None:
    found = stitched(Record(parts(lambda at, end, begin, size: full())), "a")
    np.testing.assert_array_equal(tile(found, 0, 0, stage="masked") != -np.inf, seen().numpy())


def test_a_text_that_goes_on_from_a_cache_begins_where_its_keys_begin() -> None:
    calls = parts(lambda at, end, begin, size: causal())[2:]
    found = stitched(Record(calls), "a")
    assert (found.position, found.cached, found.rows, found.keys, found.graph) == (7, 7, 5, TOTAL, causal())


def test_biases_are_joined_row_by_row() -> None:
    bias = np.random.default_rng(0).standard_normal((1, 4, TOTAL, TOTAL), dtype=np.float32)
    calls, at = parts(lambda at, end, begin, size: causal()), 0
    for place, call in enumerate(calls):
        part = bias[:, :, at : at + call.rows, : call.keys] if place else np.zeros((1, 1, 1, 1), np.float32)
        calls[place] = Call(**{**vars(call), "bias": Array.of(part)})
        at += call.rows
    found = stitched(Record(calls), "a")
    for row, wanted in ((0, np.zeros(6)), (8, bias[0, 1, 8, :9])):
        got = tile(found, 0, 1, slice(row, row + 1), slice(len(wanted)), "scaled")[0]
        raw = tile(found, 0, 1, slice(row, row + 1), slice(len(wanted)), "raw")[0]
        np.testing.assert_allclose(got - raw * 0.5, wanted, rtol=1e-5, atol=1e-6)


def test_kept_rows_keep_their_places() -> None:
    calls = parts(lambda at, end, begin, size: causal())
    some = {name: Array.of(getattr(calls[0], name).bits[:, :, [5]]) for name in ("query", "out")}
    calls[0] = Call(**{**vars(calls[0]), **some, "kept": Kept(rows=(5,), of_rows=6)})
    found = stitched(Record(calls), "a")
    assert found.kept == Kept(rows=tuple(range(5, TOTAL)), of_rows=TOTAL)
    assert found.graph == causal()
    torch.testing.assert_close(
        torch.from_numpy(tile(found, 0, 1, slice(5, TOTAL), stage="out")), whole(causal())[0, 1, 5:]
    )


def test_cross_attention_keeps_its_keys_and_joins_its_queries(make: Any) -> None:
    site = Site("a", 0, "cross", 4, 2, 3)
    calls = [make.call(query=many, site=site, seed=0, index=n) for n, many in enumerate((5, 1))]
    calls[1] = Call(**{**vars(calls[1]), "key": calls[0].key, "value": calls[0].value, "first": 5})
    found = stitched(Record(calls), "a")
    assert (found.rows, found.keys, found.graph) == (6, 7, full())
    calls[1] = Call(**{**vars(calls[1]), "key": make.call(seed=3).key})
    with pytest.raises(ArgumentError, match=r"^call 1 of a has another key than the first$"):
        stitched(Record(calls), "a")


def test_one_call_is_itself(make: Any) -> None:
    call = make.call()
    assert stitched(Record([call]), call.site) is call


def changed(place: int, **more: Any) -> list[Call]:
    calls = parts(lambda at, end, begin, size: causal())
    calls[place] = Call(**{**vars(calls[place]), **more})
    return calls


def rotated() -> list[Call]:
    calls = parts(lambda at, end, begin, size: causal())
    return changed(3, key=Array.of(np.roll(calls[3].key.bits, 1, axis=2)))


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (
            changed(2, first=0),
            "calls 1 and 2 of a are not of one text: the first ends at position 7, the second begins at 0; "
            "choose the calls of one text by calls=slice(…)",
        ),
        (changed(2, scale=2.0), "calls 1 and 2 of a differ in scale, 0.5 and 2.0, so they are not rows of one call"),
        (
            changed(2, sinks=Array.of(np.zeros(4, np.float32))),
            "calls 1 and 2 of a differ in their sinks, so they are not rows of one call",
        ),
        (
            changed(2, query=Array.of(np.zeros((2, 4, 1, 3)))),
            "calls 1 and 2 of a differ in query, Array(float32, (2, 4, 1, 3)) and Array(float64, (2, 4, 1, 3)), "
            "so they are not rows of one call",
        ),
        (
            rotated(),
            "the key of call 3 of a is not that of the calls before and its own at the end: the cache puts it in "
            "another order or changes it, so that rows cannot be told; look at the calls one by one",
        ),
        (
            parts(lambda at, end, begin, size: None, fixed=20),
            "call 0 of a reads keys past its own position 5: places of the cache that were still empty, so that its "
            "rows are not those of one text",
        ),
        (
            parts(lambda at, end, begin, size: torch.ones(1, 1, end - at, 20, dtype=torch.bool), fixed=20),
            "call 0 of a reads keys past its own position 5: places of the cache that were still empty, so that its "
            "rows are not those of one text",
        ),
        (
            [*parts(lambda *given: window(3), 2)[3:4], parts(lambda *given: causal())[4]],
            "call 4 of a sees keys from position 0 on, before those of call 3, which begin at 6: they were in no call",
        ),
    ],
)
def test_calls_that_make_no_whole_are_refused_in_words(calls: list[Call], says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{re.escape(says)}$"):
        stitched(Record(calls), "a")


def test_the_calls_of_one_text_can_be_chosen() -> None:
    calls = parts(lambda at, end, begin, size: causal())
    record = Record([*calls, *calls])
    assert stitched(record, "a", slice(len(calls))).rows == TOTAL
    with pytest.raises(ArgumentError, match=r"^wanted a call at least; got calls slice\(99, None, None\) of 10$"):
        stitched(record, "a", slice(99, None))
