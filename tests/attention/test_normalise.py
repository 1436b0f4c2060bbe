"""Shares of a matrix: the worked numbers, and what softmax is for."""

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgewise.attention import divide_by_sum, softmax
from edgewise.attention.normalise import _axes
from edgewise.errors import ArgumentError

MATRIX = torch.tensor([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0], [3.0, 3.0, 2.0]])


def test_row_column_and_whole_are_three_matrices() -> None:
    torch.testing.assert_close(divide_by_sum(MATRIX)[2], torch.tensor([0.375, 0.375, 0.25]))
    torch.testing.assert_close(divide_by_sum(MATRIX, along="queries")[:, 0], torch.tensor([1 / 6, 2 / 6, 3 / 6]))
    torch.testing.assert_close(divide_by_sum(MATRIX, along="all"), MATRIX / 14)


def test_the_forbidden_future_has_weight_zero_however_high_its_score() -> None:
    shares = softmax(torch.tensor([[2.0, -1.0, 3.0, -torch.inf]]))
    torch.testing.assert_close(shares, torch.tensor([[0.27, 0.01, 0.72, 0.0]]), atol=0.006, rtol=0)
    assert shares[0, 3] == 0


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=9), st.floats(-1e3, 1e3))
def test_adding_one_number_to_every_score_changes_no_weight(scores: list[float], shift: float) -> None:
    row = torch.tensor([scores], dtype=torch.float64)
    torch.testing.assert_close(softmax(row + shift), softmax(row), atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("along", ["keys", "queries", "all"])
def test_softmax_is_torch_s_own_along_each_direction(along: str) -> None:
    scores = 50 * torch.randn(2, 4, 5)
    wanted = {
        "keys": torch.softmax(scores, -1),
        "queries": torch.softmax(scores, -2),
        "all": torch.softmax(scores.flatten(1), -1).view(2, 4, 5),
    }
    torch.testing.assert_close(softmax(scores, along), wanted[along])


def test_a_row_of_nothing_passes_zeros_back() -> None:
    scores = torch.tensor([[-torch.inf, -torch.inf], [0.0, 1.0]], requires_grad=True)
    softmax(scores)[:, 0].sum().backward()
    assert scores.grad is not None
    assert (scores.grad[0] == 0).all()
    assert scores.grad.isfinite().all()


def test_a_direction_that_does_not_exist_is_named() -> None:
    assert jaxtyping  # the shape checks of the tests would say it first, so the check itself is asked
    with pytest.raises(ArgumentError) as caught:
        _axes("rows")
    assert str(caught.value) == 'along must be "keys", "queries" or "all"; got \'rows\''
