"""What makes a graph a value."""

import pytest

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import causal, chunks, documents, full, keys, prefix, window


def test_equal_graphs_are_one_key_of_a_dictionary() -> None:
    seen = {causal() & window(4): 1, documents([0, 0, 1]): 2, keys([1, 0, 1]): 3}
    assert seen[causal() & window(4)] == 1
    assert seen[documents(cumulative=[0, 2, 3])] == 2
    assert seen[keys([True, False, True])] == 3


def test_equality_is_of_the_form_and_equals_is_of_the_edges() -> None:
    assert causal() != window(8)
    assert causal().equals(window(8), 8, 8)
    assert not causal().equals(window(7), 8, 8)
    assert prefix(3) != window(3)
    assert window(3) != window(3, ahead=1)
    assert causal() & full() != full() & causal()
    assert causal() != "causal()"


def test_chains_are_flat_and_a_double_not_is_none() -> None:
    one, two, three = causal(), window(3), chunks(2)
    assert (one & two) & three == one & (two & three)
    assert (one | two) | three == one | (two | three)
    assert ~~one == one


def test_the_text_of_a_graph_has_the_brackets_that_it_needs() -> None:
    assert repr(causal() & window(4) | ~chunks(2)) == "causal() & window(4) | ~chunks(2)"
    assert repr((causal() | window(4, ahead=2)) & ~(full() & prefix(2))) == (
        "(causal() | window(4, ahead=2)) & ~(full() & prefix(2))"
    )


def test_a_graph_does_not_change() -> None:
    with pytest.raises(AttributeError):
        window(3).n = 4
    with pytest.raises(ValueError, match="read-only"):
        keys([1, 0]).arrays()[0][0] = False


def test_a_graph_joins_graphs_only() -> None:
    with pytest.raises(ArgumentError) as caught:
        causal() & [True, False]
    assert str(caught.value) == (
        "a graph & something wants a graph on both sides; got list: "
        "a padding mask becomes one by keys(keep), document ids by documents(ids), text by parse(text)"
    )
    with pytest.raises(ArgumentError, match=r"a graph \| something wants a graph on both sides; got str"):
        causal() | "window(3)"


def test_operands_made_for_other_lengths_are_refused() -> None:
    with pytest.raises(ShapeError) as caught:
        keys([1, 0]) & causal() & keys([1, 0, 1])
    assert str(caught.value) == (
        "both sides of & must be made for the same number of keys; got 2 in keys([1, 0]) and 3 in keys([1, 0, 1])"
    )
    with pytest.raises(ShapeError) as caught:
        documents([[0, 1], [0, 0]]) | keys([[1, 0]] * 3)
    assert str(caught.value) == (
        "both sides of | must be made for the same number of sequences; "
        "got 2 in documents([[0, 1], [0, 0]]) and 3 in keys([[1, 0], [1, 0], [1, 0]])"
    )


def test_a_graph_made_for_a_length_refuses_another() -> None:
    with pytest.raises(ShapeError) as caught:
        (causal() & keys([1, 0, 1])).ranges(2, 4)
    assert str(caught.value) == (
        "causal() & keys([1, 0, 1]) is made for 3 keys; asked for key=4 (query=2): "
        "its ids or keep must have one entry for each key, those in a cache included"
    )
    for ask in ("dense", "count", "blocks", "draw"):
        with pytest.raises(ShapeError):
            getattr(keys([1, 0, 1]), ask)(2, 4)


def test_batch_and_length_are_those_of_the_operands() -> None:
    graph = causal() & ~keys([[1, 0], [1, 1]])
    assert (graph.batch, graph.length) == (2, 2)
    assert (causal().batch, causal().length) == (None, None)
    assert (keys([[1, 0]]) & keys([[1, 0]] * 3)).batch == 3


def test_a_batch_of_one_spreads_over_a_batch() -> None:
    graph = keys([[1, 1, 0]]) & documents([[0, 0, 1], [0, 1, 1]])
    assert graph.dense(3, 3).shape == (2, 3, 3)
    assert graph.ranges(3, 3).batch == 2
    assert (~keys([[0, 0, 1]]) | documents([[0, 0, 1], [0, 1, 1]])).ranges(3, 3).batch == 2
