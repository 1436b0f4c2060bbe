"""A finding made useful: which module, the smallest input, and Python that shows it again."""

from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.calls.calling import Refused
from edgewise.checks.causes.locate import located
from edgewise.checks.causes.shrink import SECONDS, Smallest, shrunk
from edgewise.checks.finding import Finding, Observation, Skip
from edgewise.checks.patience import OutOfTime
from edgewise.checks.property import Property
from edgewise.checks.replays.replay import Origin, replay

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["sharpened"]


def sharpened(finding: Finding, one: Property, lab: "Lab", origin: Origin) -> Finding:
    """Return a finding with what can be added to it; what goes wrong on the way is left out, and the finding stays.

    Args:
        finding: what was found.
        one: the property that found it.
        lab: where it was found.
        origin: of the target.
    """
    if finding.cause.warning:
        return finding
    smallest = _smallest(finding, one, lab)
    cause = finding.cause
    try:
        cause = located(cause, one, lab)
    except OutOfTime:
        raise
    except Exception:  # where it is is an addition: what was found stands without
        cause = finding.cause
    if not cause.replay:
        cause = replace(cause, replay=_replay(cause, lab, origin, smallest))
    return replace(finding, cause=cause, smallest=finding.smallest or (str(smallest) if smallest else ""))


def _replay(cause: Observation, lab: "Lab", origin: Origin, smallest: Smallest | None) -> str:
    try:
        return replay(cause, lab, origin, smallest)
    except Refused:
        return ""


def _smallest(finding: Finding, one: Property, lab: "Lab") -> Smallest | None:
    from edgewise.checks.lab.lab import Lab

    declared = lab.declared
    meant = lab.expected()
    if meant.source == "inferred" and meant.graph is not None and meant.graph.length is None:
        declared = replace(declared, graph=meant.graph)  # a few tokens would not show it again

    def make(length: int) -> Lab:
        return Lab(lab.subject, declared, length=length, seed=lab.seed, budget=SECONDS)

    try:
        return shrunk(finding, one, make, lab.length)
    except (Skip, Exception):
        return None
