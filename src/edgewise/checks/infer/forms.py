"""The forms that an argument of a name may want, the likeliest first. Which one it is, is found by trying."""

from collections.abc import Iterator
from typing import Literal

from edgewise.checks.calls.subject import Argument
from edgewise.checks.infer.names import Taken, hides

__all__ = ["cumulative_forms", "document_forms", "mask_forms", "position_forms", "square_forms"]


def mask_forms(one: Taken, *, numbers: bool = False, turned: bool = False) -> Iterator[Argument]:
    """Of a mask of padding. What True means is not tried: that is the name's, and what it does is what is checked.

    Args:
        one: the argument.
        numbers: whether 0 and 1 are commoner than False and True, as in transformers.
        turned: whether tokens come before sequences.
    """
    form = one.form or _said(one)
    if form == "lengths":
        yield Argument(one.name, "lengths", "batch", "int", one.required)
        return
    order: tuple[Literal["int", "bool", "float"], ...] = (
        ("int", "bool", "float") if numbers else ("bool", "int", "float")
    )
    for dtype in () if form == "additive" else order:
        for shape in ("batch key", "batch 1 1 key", "batch 1 key", *["key batch"] * turned):
            yield Argument(one.name, form, shape, dtype, one.required)
    for shape in ("batch key", "batch 1 1 key", "batch 1 key") if form == "additive" or not one.form else ():
        yield Argument(one.name, "additive", shape, "float", one.required)


def _said(one: Taken) -> str:
    if "bias" in one.name or "additive" in one.name:
        return "additive"
    return "hide" if hides(one.name.lower()) else "keep"


def square_forms(one: Taken, *, hidden: bool = False) -> Iterator[Argument]:
    """Of a mask over pairs of query and key.

    Args:
        one: the argument.
        hidden: whether True hides, as in torch's modules.
    """
    form = one.form or ("hide" if hidden else _said(one))
    shapes = ("query key", "batch 1 query key", "batch query key", "batch*heads query key")
    order: tuple[Literal["bool", "int", "float"], ...] = () if form == "additive" else ("bool", "int", "float")
    for dtype in order:
        for shape in shapes:
            yield Argument(one.name, form, shape, dtype, one.required)
    for shape in shapes if form == "additive" or not one.form else ():
        yield Argument(one.name, "additive", shape, "float", one.required)


def position_forms(one: Taken, *, start: bool = False) -> Iterator[Argument]:
    """Of positions: one of each token, or only that of the first."""
    each = [Argument(one.name, "each", shape, "int", one.required) for shape in ("batch query", "query", "query batch")]
    first = Argument(one.name, "start", "", "int", one.required)
    if one.form:
        yield from (first,) if one.form == "start" else each
        return
    yield from (first, *each) if start or type(one.default) is int else (*each, first)


def document_forms(one: Taken) -> Iterator[Argument]:
    """Of documents: which one each token is of."""
    if one.form == "cumulative":
        yield from cumulative_forms(one)
        return
    for shape in ("batch query", "query"):
        yield Argument(one.name, "ids", shape, "int", one.required)


def cumulative_forms(one: Taken) -> Iterator[Argument]:
    """Of documents: where each begins, and the end."""
    yield Argument(one.name, "cumulative", "documents+1", "int", one.required)
