import json
import math
from typing import Any

import pytest

from edgewise.derivation.expected import above, agrees, below, near, plain, spoken


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (3, 3),
        ([1, [2.0]], [1, [2]]),
        (2.5, near(2.49, 0.02)),
        ([4.1, 250], near([4, 256], 0.05, relative=True)),
        (0.1, below(0.2)),
        ([0.1, 0.19], below(0.2)),
        (0.3, above(0.2)),
        ({"a": 1, "evidence": "x"}, {"a": 1}),
    ],
)
def test_a_measurement_agrees(measured: Any, expected: Any) -> None:
    assert agrees(measured, expected)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (3, 4),
        (True, 1),
        (1, True),
        ([1, 2], [1, 2, 3]),
        (1, [1]),
        (2.5, near(2.49, 0.001)),
        (math.nan, near(0.0, 1.0)),
        (math.nan, below(1.0)),
        (math.nan, above(-1.0)),
        ([], below(1.0)),
        (0.2, below(0.2)),
        (0.2, above(0.2)),
        ([1.0], near([1.0, 1.0], 0.1)),
        (1.0, near([1.0], 0.1)),
        ({}, {"a": 1}),
        ([0.1, 0.3], below(0.2)),
    ],
)
def test_a_measurement_disagrees(measured: Any, expected: Any) -> None:
    assert not agrees(measured, expected)


def test_expectations_are_plain_json() -> None:
    value = {"a": near([1], 0.1), "b": below(2), "c": above(3), "d": near(4, 0.05, relative=True), "e": math.inf}
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == {
        "a": {"near": [1], "within": 0.1},
        "b": {"below": 2},
        "c": {"above": 3},
        "d": {"near": 4, "within_relative": 0.05},
        "e": "inf",
    }


def test_expectations_are_read_in_one_line() -> None:
    value = {"row_sum": near(1.0, 0.1), "small": below(1e-5), "text": "a\nb", "yes": True, "list": [1.0, -2]}
    assert spoken(value) == "row sum 1 ± 0.1 · small < 1e-05 · text a⏎b · yes yes · list [1, −2]"
    assert spoken(near(2, 0.05, relative=True)) == "2 ± 0.05 of it"
    assert spoken(above(3)) == "> 3"
