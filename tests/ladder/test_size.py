import dataclasses

import jaxtyping
import pytest

from edgewise.errors import ArgumentError
from edgewise.ladder import Size


def test_a_size_is_small_unless_told_otherwise() -> None:
    assert dataclasses.asdict(Size(vocabulary=65)) == {
        "vocabulary": 65,
        "block": 8,
        "width": 32,
        "heads": 1,
        "layers": 1,
        "dropout": 0.0,
    }


@pytest.mark.parametrize("name", ["vocabulary", "block", "width", "heads", "layers"])
@pytest.mark.parametrize("number", [0, -1, 2.5, True, "8"])
def test_a_count_must_be_a_whole_number_of_at_least_one(
    name: str, number: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the tests' own check of types, which would refuse 2.5 first.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    given = {"vocabulary": 65, name: number}
    with pytest.raises(ArgumentError) as caught:
        Size(**given)  # type: ignore[arg-type]
    assert str(caught.value) == f"{name} must be a whole number, at least 1; got {number!r}"


def test_the_width_must_be_dealt_out_evenly_to_the_heads() -> None:
    with pytest.raises(ArgumentError) as caught:
        Size(vocabulary=65, width=32, heads=5)
    assert str(caught.value) == "width must be a multiple of heads; got width=32 for heads=5; try width=35"


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 2.0, float("nan")])
def test_dropout_must_leave_something(dropout: float) -> None:
    with pytest.raises(ArgumentError) as caught:
        Size(vocabulary=65, dropout=dropout)
    assert str(caught.value) == f"dropout must be at least 0 and below 1; got {dropout!r}"
