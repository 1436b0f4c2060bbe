"""The forms that an argument of a name may want, the likeliest first. Which one it is, is found by trying."""

from collections.abc import Iterator

from edgewise.checks.infer.names import Taken, hides
from edgewise.checks.subject import Argument

__all__ = ["cumulative_forms", "document_forms", "mask_forms", "position_forms", "square_forms"]


def mask_forms(one: Taken, *, numbers: bool = False, turned: bool = False) -> Iterator[Argument]:
    """Of a mask of padding. What True means is not tried: that is the name's, and what it does is what is checked.

    Args:
        one: the argument.
        numbers: whether 0 and 1 are commoner than False and True, as in transformers.
        turned: whether tokens come before sequences.
    """
    additive = "bias" in one.name or "additive" in one.name
    form = "hide" if hides(one.name.lower()) else "keep"
    order = ("int", "bool", "float") if numbers else ("bool", "int", "float")
    for dtype in () if additive else order:
        for shape in ("batch key", "batch 1 1 key", "batch 1 key", *["key batch"] * turned):
            yield Argument(one.name, form, shape, dtype, one.required)
    for shape in ("batch key", "batch 1 1 key", "batch 1 key"):
        yield Argument(one.name, "additive", shape, "float", one.required)


def square_forms(one: Taken, *, hidden: bool = False) -> Iterator[Argument]:
    """Of a mask over pairs of query and key.

    Args:
        one: the argument.
        hidden: whether True hides, as in torch's modules.
    """
    additive = "bias" in one.name or "additive" in one.name
    shapes = ("query key", "batch 1 query key", "batch query key", "batch*heads query key")
    for dtype in () if additive else ("bool", "int", "float"):
        for shape in shapes:
            yield Argument(one.name, "hide" if hidden else "keep", shape, dtype, one.required)
    for shape in shapes:
        yield Argument(one.name, "additive", shape, "float", one.required)


def position_forms(one: Taken, *, start: bool = False) -> Iterator[Argument]:
    """Of positions: one of each token, or only that of the first."""
    each = [Argument(one.name, "each", shape, "int", one.required) for shape in ("batch query", "query", "query batch")]
    first = Argument(one.name, "start", "", "int", one.required)
    yield from (first, *each) if start or type(one.default) is int else (*each, first)


def document_forms(one: Taken) -> Iterator[Argument]:
    """Of documents: which one each token is of."""
    for shape in ("batch query", "query"):
        yield Argument(one.name, "ids", shape, "int", one.required)


def cumulative_forms(one: Taken) -> Iterator[Argument]:
    """Of documents: where each begins, and the end."""
    yield Argument(one.name, "cumulative", "documents + 1", "int", one.required)
