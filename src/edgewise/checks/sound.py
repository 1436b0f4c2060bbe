"""Whether a target's plain answers say anything: numbers, the same each time, and tokens that are read by others."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from edgewise.checks.calls.calling import Refused
from edgewise.checks.examine import Examined
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.report import Result

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Doubt", "doubted", "doubts", "untold"]

APART = 1e-3
"""Of the largest output: two answers to one input that are further apart are no rounding of one another."""


@dataclass(frozen=True)
class Doubt:
    """Why what is measured of a target means little."""

    why: str = ""
    """"" where there is nothing to doubt."""
    kinds: tuple[str, ...] | None = None
    """What may be believed all the same; None for everything that was seen."""
    but: tuple[str, ...] = ()
    """Properties that are not believed."""


def doubts(lab: "Lab") -> Doubt:
    """Return what there is to doubt of a target's plain answer."""
    if not lab.subject.finite:
        return Doubt("its answer to a plain input is not finite: it holds NaN or infinity")
    try:
        if _restless(lab):
            why = "it answers the same input otherwise each time, though all random numbers were held still"
            return Doubt(why, ("L2",))
        if _apart(lab):
            why = "no token is read by another, and no attention was seen in it"
            return Doubt(why, but=("lost-visibility", "wrong-pattern"))
    except (Refused, Skip):
        pass  # what cannot be looked at is told by each property
    return Doubt()


def doubted(seen: Examined, doubt: Doubt) -> Examined:
    """Return what a property saw without what is not believed."""

    def believed(one: Observation) -> bool:
        return (doubt.kinds is None or one.kind in doubt.kinds) and one.property not in doubt.but

    return replace(seen, observations=tuple(filter(believed, seen.observations))) if doubt.why else seen


def untold(result: Result, doubt: Doubt) -> Result:
    """Return the result of a property, which is no pass where the target is in doubt."""
    return replace(result, status="skip", why=doubt.why) if doubt.why and result.status == "pass" else result


def _restless(lab: "Lab") -> bool:
    largest = float(lab.out(lab.given(lab.plain), lab.plain).detach().abs().max())
    return lab.noise(lab.plain) > APART * max(1.0, largest)


def _apart(lab: "Lab") -> bool:
    """Whether each token is for itself, with nothing in it that we know for attention."""
    if lab.declared.graph is not None or lab.subject.reads in ("pixels", "features", "qkv"):
        return False
    if lab.calls(lab.plain) or lab.unexplained(lab.plain):
        return False
    found = lab.influence(lab.plain)
    return not np.triu(found.moved, 1).any() and not np.tril(found.moved, -1).any() and lab.plain not in lab.mixing
