"""The course of a check: each property looked at, what was seen folded into findings, and all put into a report."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgewise.checks.baseline import Baseline
from edgewise.checks.calls.route import Route
from edgewise.checks.causes.folding import Looked, folded
from edgewise.checks.causes.sharpen import sharpened
from edgewise.checks.causes.ways import named
from edgewise.checks.examine import Examined, examined
from edgewise.checks.finding import Finding
from edgewise.checks.lab.lab import Lab
from edgewise.checks.long import along
from edgewise.checks.patience import Clock, OutOfTime
from edgewise.checks.property import Property
from edgewise.checks.replays.replay import Origin
from edgewise.checks.report import Report, Result, Sight
from edgewise.checks.sound import Doubt, doubted, doubts, untold
from edgewise.checks.verdicts import results, sights

__all__ = ["Course", "Tell"]

Tell = Callable[[str, int, int], None]
"""Told what is looked at, how many are done, and how many there are."""


@dataclass(frozen=True)
class Course:
    """What a check goes by, whatever it looks at.

    Args:
        name: by which the target can be found again, "" where it has none.
        looked: properties to look at.
        options: what the user said, by name, for replays.
        settings: what the report says of how it was made.
        budget: seconds that may be spent; None for as many as needed.
        baseline: failures that are known and not counted.
        tell: told of progress.
    """

    name: str
    looked: tuple[Property, ...]
    options: Mapping[str, Any]
    settings: Mapping[str, str]
    budget: float | None = None
    baseline: Baseline | None = None
    tell: Tell | None = None
    began: float = field(default_factory=time.perf_counter)

    def report(self, lab: Lab, clock: Clock, long: Lab | None = None) -> Report:
        """Look at each property on a lab, and say what came of it.

        Args:
            lab: what is measured.
            clock: the time that is left.
            long: the plain route with longer inputs, where the lab's are short; see `long`.
        """
        expected, measured = sights(long or lab)
        doubt = _doubts(lab)
        seen, late = _examined(self.looked, lab, long, clock, self.tell)
        seen = [doubted(one, doubt) for one in seen]
        findings = folded(Looked(one.property.name, one.observations, one.routes) for one in seen)
        findings = _sharpened(findings, self.looked, lab, Origin(self.name, self.options), self.tell)
        name = self.name or lab.subject.name
        accepted = _accepted(name, findings, lab.declared.allowed, self.baseline)
        return Report(
            target=name,
            subject=str(lab.subject),
            expected=expected,
            measured=measured,
            results=tuple(untold(one, doubt) for one in results(self.looked, seen, findings, accepted, late)),
            findings=findings,
            accepted=accepted,
            routes=tuple(dict.fromkeys(route for one in seen for route in one.routes)),
            passes=lab.passes + (long.passes if long else 0),
            seconds=time.perf_counter() - self.began,
            notes=(*_late(self.budget if late else None), *_failing(lab), *_short(lab, long)),
            settings=self.settings,
            unsound=doubt.why,
        )

    def unreached(self, seconds: float) -> Report:
        """Say that the target took all the time before it was known how to call it."""
        why = "time ran out before it was known how the target is called"
        return Report(
            target=self.name or "target",
            subject="not found out",
            expected=Sight("not known"),
            measured=Sight("not known"),
            results=tuple(Result(one.name, "skip", why) for one in self.looked),
            seconds=seconds,
            notes=(f"one call takes long: {self.budget or 0:g} s were not enough; give a larger budget",),
            settings=self.settings,
        )


def _doubts(lab: Lab) -> Doubt:
    try:
        return doubts(lab)
    except OutOfTime:
        return Doubt()


def _examined(
    looked: Sequence[Property], lab: Lab, long: Lab | None, clock: Clock, tell: Tell | None
) -> tuple[list[Examined], bool]:
    """Return what each property saw, and whether time ran out before all were looked at."""
    seen: list[Examined] = []
    for done, one in enumerate(looked):
        if tell is not None:
            tell(one.name, done, len(looked))
        if clock.left() == 0.0:
            return seen, True
        seen.append(along(examined(one, lab), long))
        if seen[-1].late:
            return seen, True
    return seen, False


def _sharpened(
    findings: tuple[Finding, ...], looked: Sequence[Property], lab: Lab, origin: Origin, tell: Tell | None
) -> tuple[Finding, ...]:
    """Return the findings with module, smallest input and replay; where time runs out, as they were."""
    by_name = {one.name: one for one in looked}
    told: list[Finding] = []
    try:
        for place, one in enumerate(findings):
            if tell is not None:
                tell(f"{one.cause.property}: where", place, len(findings))
            told.append(sharpened(one, by_name[one.cause.property], lab, origin))
    except OutOfTime:
        pass
    return (*told, *findings[len(told) :])


def _accepted(
    name: str, findings: Sequence[Finding], allowed: Mapping[str, str], baseline: Baseline | None
) -> dict[int, str]:
    """Return which findings are not counted, and why."""
    found: dict[int, str] = {}
    for place, one in enumerate(findings):
        if one.cause.property in allowed:
            found[place] = f"allowed: {allowed[one.cause.property]}"
        elif baseline is not None and baseline.knows(name, one):
            found[place] = "known: it is in the baseline"
    return found


def _late(budget: float | None) -> tuple[str, ...]:
    return () if budget is None else (f"time ran out after {budget:g} s: what was not reached is skipped",)


def _short(lab: Lab, long: Lab | None) -> tuple[str, ...]:
    if long is None:
        return ()
    return (f"{long.length} tokens on the plain route; a pass of it is long, so the other routes have {lab.length}",)


def _failing(lab: Lab) -> Iterator[str]:
    """Yield the routes on which the target itself fails, so that nothing is said of them."""
    whys: dict[str, list[Route]] = {}
    for route, why in lab.refused.items():
        if why.startswith(("it raises", "it ran out")):
            whys.setdefault(why, []).append(route)
    for why, routes in whys.items():
        yield f"not looked at: {named(routes)}, where {why}"
