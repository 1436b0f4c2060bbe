"""How a difference reads."""

import numpy as np
import pytest

from edgewise.errors import ShapeError
from edgewise.graphs import causal, difference, documents, keys, window


def _text(*arguments: object) -> str:
    return str(difference(*arguments))  # pyright: ignore[reportArgumentType]


def test_equal_graphs_have_no_difference() -> None:
    assert causal().difference(window(9), 9, 9) is None
    assert difference(causal().dense(5, 5), causal()) is None


def test_two_graphs_are_named_and_the_first_rows_told() -> None:
    assert str(window(4).difference(window(3), 9, 9)) == (
        "measured window(4), declared window(3): row 3 sees keys 0…3, declared 1…3; row 4 sees keys 1…4, declared 2…4; "
        "row 5 sees keys 2…5, declared 3…5; and 3 more rows (6 edges too many, 0 missing)"
    )


def test_measured_edges_are_named_where_there_is_a_word_for_them() -> None:
    assert _text(window(4).dense(4, 4), window(3)) == (
        "measured causal(), declared window(3): row 3 sees keys 0…3, declared 1…3 (1 edge too many, 0 missing)"
    )
    edges = causal().dense(8, 8)
    edges[2, 5], edges[7, 1] = True, False
    assert _text(edges, causal()) == (
        "row 2 sees keys 0…2, 5, declared 0…2; row 7 sees keys 0, 2…7, declared 0…7 (1 edge too many, 1 missing)"
    )


def test_rows_that_see_nothing_and_one_more_row_read_well() -> None:
    assert _text(~causal(), causal(), 4, 4) == (
        "measured ~causal(), declared causal(): row 0 sees keys 1…3, declared 0; row 1 sees keys 2…3, declared 0…1; "
        "row 2 sees key 3, declared 0…2; and 1 more row (6 edges too many, 10 missing)"
    )
    assert "row 0 sees no key, declared 0…1" in _text(np.zeros((1, 2), bool), causal())
    assert "row 0 sees keys 0…1, declared none" in _text(causal(), keys([0, 0]), 1, 2)


def test_many_runs_are_cut() -> None:
    edges = np.arange(14)[None, :] % 2 == 0
    assert "row 0 sees keys 0, 2, 4, … (7 runs), declared 0…13" in _text(edges, causal())


def test_sequences_are_told_apart() -> None:
    graph = causal() & keys([[1, 1, 1], [0, 1, 1]])
    assert str(graph.difference(causal(), 3, 3)).startswith(
        "measured causal() & keys([[1, 1, 1], [0, 1, 1]]), declared causal(): "
        "sequence 1 row 0 sees no key, declared 0; sequence 1 row 1 sees key 1, declared 0…1; "
    )
    assert difference(causal().dense(3, 3), graph).missing == 0


def test_lengths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError) as caught:
        difference(causal(), causal())
    assert str(caught.value) == "two graphs are compared at given lengths: difference(measured, declared, query, key)"
    with pytest.raises(ShapeError) as caught:
        difference(causal().dense(3, 3), causal(), 3, 4)
    assert str(caught.value) == "measured edges are (query, key)=(3, 3); asked to compare at (3, 4)"
    with pytest.raises(ShapeError) as caught:
        documents([[0, 1]] * 2).difference(keys([[0, 1]] * 3), 2, 2)
    assert str(caught.value) == "graphs with 2 and 3 sequences cannot be compared"
