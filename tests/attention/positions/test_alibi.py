"""ALiBi: the slopes, and a bias that falls with the distance."""

import pytest
import torch

from edgewise.attention import alibi, attend, reference, slopes
from edgewise.errors import ArgumentError
from edgewise.graphs import causal


def test_slopes_are_the_paper_s_for_powers_of_two_and_between() -> None:
    assert slopes(8) == [2.0**-i for i in range(1, 9)]
    assert slopes(12) == [2.0**-i for i in range(1, 9)] + [2.0 ** -(i + 0.5) for i in range(4)]
    for heads in range(1, 70):
        assert len(set(slopes(heads))) == heads
        assert all(0 < slope < 1 for slope in slopes(heads))


def test_the_bias_is_minus_slope_times_distance_aligned_at_the_end() -> None:
    bias = alibi(2, 3, 5)
    for head, slope in enumerate(slopes(2)):
        for row in range(3):
            for column in range(5):
                assert bias[head, row, column] == -slope * abs(row + 2 - column)


def test_scores_alone_being_equal_nearer_keys_get_more() -> None:
    x = torch.zeros(4, 6, 8)
    weights = reference(x, x, x, causal(), bias=alibi(4, 6, 6)).weights
    assert (weights[:, -1].diff() > 0).all()
    y = torch.randn(4, 6, 8)
    torch.testing.assert_close(
        attend(y, y, y, causal(), bias=alibi(4, 6, 6)), reference(y, y, y, causal(), bias=alibi(4, 6, 6)).out
    )


def test_too_few_are_told() -> None:
    with pytest.raises(ArgumentError) as caught:
        slopes(0)
    assert str(caught.value) == "alibi needs at least 1 head; got 0"
    with pytest.raises(ArgumentError) as caught:
        alibi(1, -1, 3)
    assert str(caught.value) == "alibi needs query and key of at least 0 positions; got -1 and 3"
