"""Learned positions: a table and its end."""

import pytest
import torch

from edgewise.attention import Learned
from edgewise.errors import ArgumentError, ShapeError


def test_position_vectors_are_rows_of_the_table_from_start() -> None:
    table = Learned(8, 4)
    torch.testing.assert_close(table(3, start=2), table.weight[2:5])
    assert [tuple(p.shape) for p in table.parameters()] == [(8, 4)]


@pytest.mark.parametrize(("length", "start", "last"), [(9, 0, 8), (3, 6, 8), (2, -1, 0)])
def test_past_the_table_there_is_nothing(length: int, start: int, last: int) -> None:
    with pytest.raises(ShapeError) as caught:
        Learned(8, 4)(length, start)
    assert str(caught.value) == (
        f"positions must be within the table's block=8; got {start} to {last}: crop to the last 8 tokens"
    )


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ArgumentError) as caught:
        Learned(0, 4)
    assert str(caught.value) == "a table of positions needs block ≥ 1 and channels ≥ 1; got 0 and 4"
