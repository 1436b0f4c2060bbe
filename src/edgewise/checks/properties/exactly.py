"""Whether two ways differ by more than rounding: they are asked again in float64, where rounding is out of the way."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["rounded"]


def rounded(lab: "Lab", given: Given, one: Route, other: Route, real: Tensor | None = None) -> bool:
    """Return whether the two agree in float64, so that what they differ by is rounding.

    Args:
        lab: what measures.
        given: the input of both.
        one: a way.
        other: another.
        real: bool (batch, query): the tokens that count; None for all.
    """
    if lab.subject.dtype == torch.float64:
        return False
    try:
        first, second = (lab.answer(given, replace(way, dtype="float64")).out for way in (one, other))
    except Refused:
        return False
    if first.shape != second.shape:
        return False
    if real is not None and first.dim() == 3:
        first, second = first[real], second[real]
    return lab.close(first, second, replace(one, dtype="float64", cached=(), training=False)) is None
