"""Documents and keys, however they are given."""

import numpy as np
import pytest
import torch

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import causal, documents, keys


def test_lists_arrays_and_tensors_are_the_same_graph() -> None:
    for given in (np.array([3, 3, 5]), torch.tensor([3, 3, 5]), (3, 3, 5), np.array([3, 3, 5], np.uint8)):
        assert documents(given) == documents([3, 3, 5])
    weight = torch.tensor([1.0, 0.0], requires_grad=True)
    assert keys(weight > 0) == keys([True, False]) == keys(np.array([1, 0], np.int8)) == keys(torch.tensor([1, 0]))


def test_ids_and_cumulative_lengths_say_the_same() -> None:
    assert (
        documents([7, 7, 2, 2, 2]) == documents(cumulative=[0, 2, 5]) == documents(cumulative=torch.tensor([0, 2, 5]))
    )


def test_a_document_may_lie_in_several_pieces() -> None:
    assert documents([4, 9, 4, 9, 4]).ranges(5, 5).row(2) == [(0, 1), (2, 3), (4, 5)]
    assert repr(documents([4, 9, 4, 9, 4])) == "documents([0, 1, 0, 1, 0])"


def test_changing_what_was_given_does_not_change_the_graph() -> None:
    ids, keep = np.array([0, 0, 1]), torch.tensor([True, False, True])
    graph = documents(ids) & keys(keep)
    before = graph.dense(3, 3)
    ids[:], keep[:] = 0, True
    np.testing.assert_array_equal(graph.dense(3, 3), before)


def test_allows_takes_the_arrays_as_tensors() -> None:
    graph = causal() & documents([[0, 0, 1], [0, 1, 1]]) & keys([[1, 1, 1], [0, 1, 1]])
    arrays = [torch.from_numpy(array.copy()) for array in graph.arrays()]
    at = torch.arange(3)
    found = graph.allows(at[:, None], at, torch.arange(2)[:, None, None], arrays)
    torch.testing.assert_close(found, torch.from_numpy(graph.dense(3, 3)))


def test_keys_that_keep_nothing_leave_nothing() -> None:
    assert keys([0, 0, 0]).count(3, 3) == 0
    assert keys([[0, 0], [0, 1]]).count(2, 2) == 2
    assert keys([0, 0]).blocks(2, 2) == ()


def test_long_lists_are_written_by_their_repeats_and_endless_ones_cut() -> None:
    assert repr(keys([1] * 30 + [0] * 2)) == "keys([1] * 30 + [0] * 2)"
    assert repr(keys([[0] * 20, [0] * 5 + [1] * 15])) == "keys([[0] * 20, [0] * 5 + [1] * 15])"
    assert repr(documents(cumulative=range(0, 2001, 10))).endswith(", 620, …, 2000])")
    assert repr(keys(np.arange(400) % 3 == 0)).startswith("keys([1, 0, 0, 1, 0, 0, ")
    assert "…" in repr(keys(np.arange(10_000) % 50 < 10))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: documents(),
            ArgumentError,
            "documents wants ids, a number for each key, or cumulative=[0, …, length], one of the two; got neither",
        ),
        (
            lambda: documents([0, 1], cumulative=[0, 2]),
            ArgumentError,
            "documents wants ids, a number for each key, or cumulative=[0, …, length], one of the two; got both",
        ),
        (
            lambda: documents([0.0, 1.0]),
            ArgumentError,
            "ids of documents must be whole numbers, one for each key; got float64",
        ),
        (
            lambda: documents([True, False]),
            ArgumentError,
            "ids of documents must be whole numbers, one for each key; got bool: a padding mask goes to keys(keep)",
        ),
        (
            lambda: documents("aab"),
            ArgumentError,
            "ids of documents must be a list, an array or a tensor of numbers; got 'aab'",
        ),
        (
            lambda: documents([[0, 1], [0]]),
            ShapeError,
            "ids of documents must be a list of numbers, or a list of such lists of one length; got [[0, 1], [0]]",
        ),
        (
            lambda: documents([]),
            ShapeError,
            "ids of documents must be (key,) or (batch, key), with at least one key; got shape (0,)",
        ),
        (
            lambda: documents(cumulative=[0, 3, 3]),
            ArgumentError,
            "cumulative of documents must be whole numbers that rise from 0 to the length, as [0, 3, 7]; got [0, 3, 3]",
        ),
        (
            lambda: documents(cumulative=[2, 3]),
            ArgumentError,
            "cumulative of documents must be whole numbers that rise from 0 to the length, as [0, 3, 7]; got [2, 3]",
        ),
        (
            lambda: documents(cumulative=[[0, 3]]),
            ShapeError,
            "cumulative of documents must be 1-D; got shape (1, 2): for a batch give ids",
        ),
        (
            lambda: keys([0.0, float("-inf")]),
            ArgumentError,
            "keep of keys must hold True and False, or 1 and 0; got float64: "
            "an additive mask keeps what it adds 0 to, so give keys(mask == 0)",
        ),
        (
            lambda: keys([0, 1, 2]),
            ArgumentError,
            "keep of keys must hold True and False, or 1 and 0; got 2: document ids go to documents(ids)",
        ),
        (
            lambda: keys(torch.ones(2, 1, 1, 3, dtype=torch.bool)),
            ShapeError,
            "keep of keys must be (key,) or (batch, key), with at least one key; got shape (2, 1, 1, 3): "
            "drop the axes of size 1",
        ),
        (
            lambda: keys(True),
            ShapeError,
            "keep of keys must be (key,) or (batch, key), with at least one key; got shape ()",
        ),
    ],
)
def test_a_wrong_list_is_refused_in_words(build, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        build()
    assert str(caught.value) == message
