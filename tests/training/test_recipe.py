from typing import Any

import pytest

from edgewise.errors import ArgumentError
from edgewise.training import Recipe


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "wanted steps to be a whole number, at least 1; got 0"),
        ({"batch": -3}, "wanted batch to be a whole number, at least 1; got -3"),
        ({"batch": 2.5}, "wanted batch to be a whole number, at least 1; got 2.5"),
        ({"accumulate": True}, "wanted accumulate to be a whole number, at least 1; got True"),
        ({"seed": -1}, "wanted seed to be a whole number, at least 0; got -1"),
        ({"weight_decay": -0.1}, "wanted weight_decay to be at least 0; got -0.1"),
        ({"clip": float("nan")}, "wanted clip to be at least 0; got nan"),
        ({"learning_rate": 0.0}, "wanted a learning_rate above 0; got 0.0"),
        ({"learning_rate": float("inf")}, "wanted a learning_rate above 0; got inf"),
        ({"final": 1.5}, "wanted final, a part of the learning rate, from 0 to 1; got 1.5"),
    ],
)
def test_a_number_outside_its_range_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as mistake:
        Recipe(**wrong)
    assert str(mistake.value) == message


def test_a_recipe_comes_back_from_json_and_a_field_of_a_later_version_is_left_out() -> None:
    recipe = Recipe(steps=7, seed=3)
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert Recipe.from_json({**recipe.to_json(), "of tomorrow": 1}) == recipe
