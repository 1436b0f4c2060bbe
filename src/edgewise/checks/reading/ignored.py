"""A padding mask that does nothing at all: right for a causal model that is padded on the right, and only there."""

from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["doubted"]


def doubted(lab: "Lab", one: Observation) -> Observation:
    """Return an observation of padding that is read, as a warning where the target may not be meant to hide it.

    In a causal model no real token comes after padding on the right, and many are written to be padded so. One that
    takes a mask and does nothing with it on any route may be one of them.
    """
    if one.kind not in ("D1", "G5") or one.route.mask != "left" or not lab.expected(route=one.route).causal:
        return one
    if one.kind == "G5" or not lab.once("mask ignored", lambda: _ignored(lab)):
        return one
    return replace(
        one,
        warning=True,
        likely="the padding mask does nothing: right for padding on the right of a causal model, wrong on its left",
    )


def _ignored(lab: "Lab") -> bool:
    """Whether no output of any route depends on the padding mask."""
    return not any(_goes_by_it(lab, route) for route in lab.where(dtype=None) if route.mask in ("left", "right"))


def _goes_by_it(lab: "Lab", route: Route) -> bool:
    given = lab.given(route)
    if given.keep is None:
        return True
    whole = given.replace(keep=given.keep.new_ones(given.keep.shape))
    try:
        return lab.close(lab.out(given, route), lab.asked(whole, route), route) is not None
    except Refused:
        return True
