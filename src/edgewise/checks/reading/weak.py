"""Why a mask that is there hides nothing: too weak a number, 0 and 1 that are added, a result that is thrown away."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.lab.sites import Seen
from edgewise.checks.reading.fills import Fill, Fills

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["fills_of", "weak_bias", "weak_fill"]

Cells = Bool[np.ndarray, "query key"]


def fills_of(lab: "Lab", given: Given, route: Route) -> Fills:
    """Return what the code fills while it answers once more."""
    fills = Fills()
    try:
        with fills:
            # Another object, so that the answer is not the one that is remembered.
            lab.answer(given.replace(), route)
    except Refused:
        return Fills()
    return fills


def weak_bias(calls: Sequence[Seen], leaks: Cells, row: int) -> tuple[str, str, str] | None:
    """Return kind, cause and site, where numbers are added where edges should be hidden.

    Args:
        calls: what attention was seen to compute.
        leaks: cells of the row that should be hidden and are not.
        row: which sequence.
    """
    for one in calls:
        query, key = one.query.shape[2], one.key.shape[2]
        at = leaks[one.first : one.first + query, :key] if leaks.shape[0] >= one.first + query else leaks[:query, :key]
        if not at.any() or at.shape != (query, key):
            continue
        if np.isfinite(one.hidden) and one.hidden > -1e5 and not bool((_of(one.allowed, row) & at).any()):
            return "G2", f"{one.hidden:g} is added where edges should be hidden: {_TOO}", one.site
        if one.bias is None or (one.bias.shape[-2] == 1 and _same(one, row, at)):
            continue
        if not bool((_of(one.allowed, row) & at).any()):
            continue  # there is no edge: what is added where there might be one moves nothing
        bias = _numbers(one, row)
        hidden, shown = bias[at], bias[~at]
        if not hidden.size or np.unique(hidden.round(9)).size != 1:
            continue
        value = float(hidden[0])
        found = _meaning(value, shown, one.scale)
        if found is not None:
            return *found, one.site
    return None


_TOO = "scores can be larger than that, and then it hides nothing"


def _meaning(value: float, shown: np.ndarray, scale: float) -> tuple[str, str] | None:
    """Return what a number that stands at hidden cells alone was meant to be."""
    kept = float(np.median(shown)) if shown.size else 0.0
    if value == kept:
        return None
    if {value, kept} <= {0.0, 1.0}:
        return "G4", "a mask of 0 and 1 is added to the scores as numbers: it shifts them by one and hides nothing"
    for factor, how in ((scale, "multiplied by the scale"), (scale * scale, "multiplied by the scale twice")):
        if factor != 1 and _round(value / factor) and not _round(value):
            times = f"{value / factor:g} {how} is {value:g}"
            return "G6", f"the mask is scaled with the scores: {times}, which hides too little"
    if value < kept:
        return "G2", f"{value:g} is added where edges should be hidden: it hides too little; −∞ was meant"
    if value > kept:
        return "G1", f"{value:g} is added where edges should be hidden: the sign is wrong"
    return None


def _round(value: float) -> bool:
    """Return whether somebody would write this number to hide an edge: a power of ten."""
    if not value or not np.isfinite(value):
        return False
    power = np.log10(abs(value))
    return abs(power - round(power)) < 1e-6


def _of(tensor: object, row: int) -> np.ndarray:
    numbers = tensor.detach().float().cpu().numpy()  # pyright: ignore[reportAttributeAccessIssue]
    return numbers[min(row, len(numbers) - 1)].max(0) > 0


def _numbers(one: Seen, row: int) -> np.ndarray:
    assert one.bias is not None
    bias = one.bias.detach().double().cpu().numpy()
    bias = bias[min(row, len(bias) - 1), 0]
    return np.broadcast_to(bias, (one.query.shape[2], one.key.shape[2]))


def _same(one: Seen, row: int, at: Cells) -> bool:
    """Return whether a bias that is the same for all queries says nothing of these cells."""
    return not bool(at.all(0).any()) and np.unique(_numbers(one, row)[0]).size == 1


def weak_fill(fills: Fills, leaks: Cells, extra: Cells) -> tuple[str, str] | None:
    """Return kind and cause, where code fills just what leaks and it is of no use.

    Args:
        fills: what the code fills.
        leaks: the cells that should be hidden.
        extra: those of them that are read.
    """
    lost = fills.lost(leaks if leaks.any() else extra) or fills.lost(extra)
    if lost is not None:
        return (
            "G5",
            f"the result of {lost.name} is thrown away: it returns a new tensor and changes nothing in place "
            "(masked_fill_ or an assignment was meant)",
        )
    weak = fills.weak(extra)
    return None if weak is None else _told(weak)


def _told(weak: Fill) -> tuple[str, str] | None:
    value = weak.value * weak.scaled
    if value <= -1e5:
        return None
    if weak.scaled != 1:
        times = f"{weak.value:g} times {weak.scaled:g} is {value:g}"
        return "G6", f"the mask is scaled with the scores: {times}, which hides too little"
    what = f"{weak.name} puts {weak.value:g} where edges should be hidden"
    return "G2", f"{what}: scores can be lower, so it hides too little"
