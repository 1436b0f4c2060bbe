"""A row without its padding, and whether it comes out as it does with it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["alone", "as_alone"]


def alone(given: Given, row: int, real: Tensor) -> Given:
    """A row without its padding."""
    assert given.keep is not None
    single = given.row(row)
    parts = {name: one[:, real] for name in ("tokens", "keep") if (one := getattr(single, name)) is not None}
    return single.replace(**parts)


def as_alone(lab: "Lab", route: Route, given: Given, row: int) -> bool:
    """Return whether a row of ids padded with the id of padding comes out as it does without any padding.

    The embedding of that id is often all zeros, which is just what a convolution finds beyond the end.
    """
    if lab.subject.reads != "ids" or lab.subject.pad is None or given.keep is None or route.cached:
        return False
    real = given.keep[row]
    if bool((given.tokens[row, ~real] != lab.subject.pad).any()):
        return False
    plain = replace(route, mask=lab.plain.mask, batch=1)
    try:
        padded, single = lab.out(given, route)[row : row + 1, real], lab.asked(alone(given, row, real), plain)
    except Refused:
        return False
    return single.shape == padded.shape and lab.close(padded, single, route) is None
