"""Sinusoidal positions: the formula, and that a shift is a rotation."""

import math

import pytest
import torch

from edgewise.attention import sinusoidal
from edgewise.errors import ArgumentError


def test_each_channel_is_the_formula() -> None:
    waves = sinusoidal(50, 6)
    for position in (0, 1, 7, 49):
        for pair in range(3):
            angle = position / 10000 ** (2 * pair / 6)
            assert waves[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert waves[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_shift_is_one_rotation_for_all_positions() -> None:
    waves = sinusoidal(40, 8).unflatten(-1, (-1, 2))
    dots = (waves[:30] * waves[5:35]).sum(-1)
    torch.testing.assert_close(dots, dots[:1].expand(30, -1))


def test_start_moves_along_the_same_waves_and_far_places_stay_apart() -> None:
    torch.testing.assert_close(sinusoidal(5, 8, start=20), sinusoidal(25, 8)[20:])
    far = sinusoidal(2, 8, start=10_000_000)
    assert (far[0] - far[1]).abs().max() > 0.1


def test_an_odd_number_of_channels_ends_with_a_sine() -> None:
    torch.testing.assert_close(sinusoidal(4, 5)[:, :4].shape, torch.Size([4, 4]))
    assert sinusoidal(4, 5).shape == (4, 5)


def test_too_few_are_told() -> None:
    with pytest.raises(ArgumentError) as caught:
        sinusoidal(3, 0)
    assert str(caught.value) == "sinusoidal needs length ≥ 0 and channels ≥ 1; got 3 and 0"
