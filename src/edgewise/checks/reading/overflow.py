"""Masks in narrower dtypes: a number that hides in float32 can overflow to −∞, or to an error, in half precision."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["overflowing"]


def overflowing(lab: "Lab", name: str) -> Iterator[Observation]:
    """Yield each route in a narrower dtype that gives NaN for real tokens where the wider one does not."""
    for route in [one for one in lab.routes if one.dtype is not None]:
        wide = replace(route, dtype=None)
        if not lab.takes(wide) or not _numbers(lab, wide):
            continue
        if not lab.takes(route):
            continue  # it fails in so many words: loud, and no fault of what it computes
        if not _numbers(lab, route) and _overflows(lab, route):
            yield Observation(
                name,
                "G3",
                route,
                "outputs of real tokens are NaN",
                f"they are numbers, as in {str(lab.subject.dtype).removeprefix('torch.')}",
                f"the number that hides overflows to −∞ in {route.dtype}: a product with 0 or a row of −∞ gives NaN",
            )


def _numbers(lab: "Lab", route: Route) -> bool:
    """Whether every output of a real token is a number."""
    given = lab.given(route)
    try:
        out = lab.out(given, route)
    except Refused:
        return False
    finite = out.isfinite().all(-1)
    finite = finite.all(1) if finite.dim() == 3 else finite
    if given.keep is not None and given.keep.shape == finite.shape:
        finite = finite | ~given.keep
    return bool(finite.all())


def _overflows(lab: "Lab", route: Route) -> bool:
    """Whether it is the mask that is not finite, and not the scores: those are numbers before it."""
    try:
        calls = lab.calls(route)
    except Refused:
        return True
    first = next(iter(calls), None)
    return first is None or bool(torch.isfinite(first.query).all() and torch.isfinite(first.key).all())
