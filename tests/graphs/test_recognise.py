"""Graphs named from their edges (never a wrong name: test_generated_graphs.py)."""

import numpy as np
import pytest

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import Graph, causal, chunks, documents, full, keys, parse, prefix, recognise, window

NAMED = [
    "full()",
    "causal()",
    "window(4)",
    "window(4, ahead=2)",
    "prefix(3)",
    "chunks(4)",
    "documents(cumulative=[0, 3, 4, 12])",
    "documents([0, 0, 1, 0, 1, 2, 2, 0, 0, 1, 1, 2])",
    "keys([0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1])",
    "causal() & chunks(4)",
    "window(3) & chunks(4)",
    "prefix(4) & documents(cumulative=[0, 5, 12])",
    "causal() & documents(cumulative=[0, 3, 5, 12])",
    "causal() & documents([0, 0, 1, 0, 1, 2, 2, 0, 0, 1, 1, 2])",
    "causal() & keys([0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])",
    "window(5) & keys([0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])",
    "chunks(4) & keys([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0])",
    "causal() & chunks(4) & keys([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0])",
    "causal() & (window(3) | keys([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))",
]


@pytest.mark.parametrize("text", NAMED)
def test_a_graph_is_named_as_it_was_built(text: str) -> None:
    graph = parse(text)
    assert repr(recognise(graph.dense(12, 12))) == text
    assert recognise(graph.ranges(12, 12)) == graph


@pytest.mark.parametrize("text", [text for text in NAMED if "documents([" not in text])
@pytest.mark.parametrize("query", [1, 5, 14])
def test_a_graph_is_named_at_any_lengths(text: str, query: int) -> None:
    named, graph = recognise(parse(text).ranges(query, 12)), parse(text)
    assert named is not None
    assert named.equals(graph, query, 12)


def test_of_several_true_names_the_simplest_is_given() -> None:
    assert recognise(window(12).dense(12, 12)) == causal()
    assert recognise((causal() & window(4)).dense(12, 12)) == window(4)
    assert recognise(prefix(12).dense(12, 12)) == full()
    assert recognise(np.eye(4, dtype=bool)) == window(1)


def test_sequences_that_differ_are_named_together_and_equal_ones_as_one() -> None:
    padded: Graph = causal() & keys([[0, 0, 1, 1], [1, 1, 1, 1]])
    assert recognise(padded.dense(4, 4)) == padded
    packed = causal() & documents([[0, 0, 1, 1], [0, 1, 1, 1]])
    assert recognise(packed.ranges(4, 4)) == packed
    assert recognise(np.stack([causal().dense(4, 4)] * 3)) == causal()


def test_what_has_no_name_has_none() -> None:
    edges = causal().dense(6, 6)
    edges[2, 4] = True
    assert recognise(edges) is None
    assert recognise((~causal()).dense(6, 6)) is None


def test_no_rows_are_full() -> None:
    assert recognise(np.zeros((0, 3), bool)) == full()


def test_a_long_measurement_is_named() -> None:
    graph = causal() & documents(cumulative=[0, 30_000, 100_000, 200_000])
    assert recognise(graph.ranges(200_000, 200_000)) == graph
    assert recognise(chunks(1000).ranges(200_000, 200_000)) == chunks(1000)


def test_what_is_no_measurement_is_refused() -> None:
    with pytest.raises(ArgumentError) as caught:
        recognise(np.ones((2, 2)))
    assert str(caught.value) == ("measured edges must be Ranges or booleans, True where there is an edge; got float64")
    with pytest.raises(ShapeError) as caught:
        recognise(np.ones(3, bool))
    assert str(caught.value) == "measured edges must be (query, key) or (batch, query, key); got shape (3,)"
