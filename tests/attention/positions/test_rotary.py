"""Rotary positions: only the distance is seen, and the two pairings differ."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import config

from edgewise.attention import Pairing, rotary
from edgewise.errors import ArgumentError, ShapeError


@given(st.sampled_from(["halves", "interleaved"]), st.integers(0, 100_000), st.sampled_from([2, 8, 64]))
def test_a_score_depends_on_the_distance_alone(pairing: Pairing, shift: int, width: int) -> None:
    query, key = torch.randn(2, 5, width), torch.randn(2, 5, width)
    place = torch.arange(5)

    def scores(start: int) -> torch.Tensor:
        return rotary(query, place + start, pairing=pairing) @ rotary(key, place + start, pairing=pairing).mT

    torch.testing.assert_close(scores(shift), scores(0), atol=1e-4, rtol=1e-4)


def test_the_pairings_are_one_rotation_of_numbers_in_another_order() -> None:
    x, place = torch.randn(3, 7, 8), torch.arange(7)
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])
    halves = rotary(x, place, pairing="halves")
    torch.testing.assert_close(rotary(x[..., order], place, pairing="interleaved"), halves[..., order])
    assert not torch.equal(rotary(x, place, pairing="interleaved"), halves)


def test_each_pair_is_turned_by_its_own_angle() -> None:
    x = torch.randn(1, 6)
    turned = rotary(x, torch.tensor([3]), base=100.0, pairing="interleaved")
    for pair in range(3):
        point = torch.view_as_complex(x[0, 2 * pair : 2 * pair + 2])
        wanted = point * torch.exp(torch.tensor(1j * 3 * 100.0 ** (-2 * pair / 6)))
        torch.testing.assert_close(torch.view_as_complex(turned[0, 2 * pair : 2 * pair + 2]), wanted)


def test_bfloat16_is_turned_in_float32() -> None:
    x, place = torch.randn(4, 16).bfloat16(), torch.arange(4) + 5000
    torch.testing.assert_close(rotary(x, place), rotary(x.float(), place).bfloat16(), rtol=0, atol=0)


def test_each_sequence_may_have_positions_of_its_own() -> None:
    x = torch.randn(2, 3, 5, 4)
    places = torch.stack([torch.arange(5), torch.arange(5) + 9])
    turned = rotary(x, places[:, None])
    torch.testing.assert_close(turned[1], rotary(x[1], places[1]))


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(ShapeError) as caught:
        rotary(torch.zeros(4, 3), torch.arange(4))
    assert str(caught.value) == "rotary needs an even width, its numbers are turned in pairs; got width=3"
    config.update("jaxtyping_disable", True)  # the shape checks of the tests would speak first
    try:
        with pytest.raises(ShapeError) as caught:
            rotary(torch.zeros(4, 2), torch.arange(5))
        assert str(caught.value) == "positions must broadcast to (4,), one for each row of x; got (5,)"
        with pytest.raises(ArgumentError) as other:
            rotary(torch.zeros(4, 2), torch.arange(4), pairing="thirds")
        assert str(other.value) == 'pairing must be "halves" or "interleaved"; got \'thirds\''
    finally:
        config.update("jaxtyping_disable", False)
