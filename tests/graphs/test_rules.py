"""The rules that need no data, on cases small enough to see."""

import numpy as np
import pytest
import torch

from edgewise.errors import ArgumentError
from edgewise.graphs import causal, chunks, full, prefix, window


def test_the_last_query_sees_the_last_key() -> None:
    assert causal().dense(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


def test_a_row_before_the_first_key_sees_nothing_under_causal_and_all_under_full() -> None:
    assert causal().dense(4, 2).sum(1).tolist() == [0, 0, 1, 2]
    assert full().dense(4, 2).all()


def test_a_window_of_n_holds_n_keys_its_own_included() -> None:
    assert window(3).ranges(6, 6).counts().tolist() == [1, 2, 3, 3, 3, 3]
    assert window(1).dense(3, 3).tolist() == np.eye(3, dtype=bool).tolist()
    assert window(1, ahead=1).ranges(3, 3).counts().tolist() == [2, 2, 1]


def test_chunks_lie_at_absolute_positions() -> None:
    assert chunks(4).ranges(2, 6).row(0) == [(4, 6)]


def test_allows_takes_numbers_arrays_and_tensors() -> None:
    graph = (~window(2) & prefix(2)) | chunks(3)
    dense = graph.dense(6, 6)
    at = np.arange(6)
    np.testing.assert_array_equal(graph.allows(at[:, None], at), dense)
    at = torch.arange(6)
    torch.testing.assert_close(graph.allows(at[:, None], at), torch.from_numpy(dense))
    assert [bool(graph.allows(5, key)) for key in range(6)] == dense[5].tolist()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: window(0), "n of window(n) must be at least 1; got 0"),
        (lambda: window(2.0), "n of window(n) must be a whole number, at least 1; got 2.0 (float)"),
        (lambda: window(True), "n of window(n) must be a whole number, at least 1; got True (bool)"),
        (lambda: window(2, ahead=-1), "ahead of window(n, ahead) must be at least 0; got -1"),
        (lambda: prefix(0), "n of prefix(n) must be at least 1; got 0"),
        (lambda: chunks("8"), "n of chunks(n) must be a whole number, at least 1; got '8' (str)"),
        (lambda: causal().count(-1, 2), "query must be at least 0; got -1"),
        (lambda: causal().dense(2, None), "key must be a whole number, at least 0; got None (NoneType)"),
    ],
)
def test_a_wrong_number_is_refused_by_name(build, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        build()
    assert str(caught.value) == message


def test_numpy_whole_numbers_are_numbers() -> None:
    assert window(np.int64(3)) == window(3)
