"""What each property came to, in a line, and the graphs that a report opens with."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgewise.checks.calls.calling import Refused
from edgewise.checks.causes.ways import brief, named
from edgewise.checks.examine import Examined
from edgewise.checks.finding import Finding, Skip
from edgewise.checks.patience import OutOfTime
from edgewise.checks.property import Property
from edgewise.checks.report import Result, Sight

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["results", "sights"]


def results(
    looked: Sequence[Property],
    seen: Sequence[Examined],
    findings: Sequence[Finding],
    accepted: Mapping[int, str],
    late: bool,
) -> tuple[Result, ...]:
    """Return what each property came to, those that were not reached too."""
    by_name = {one.property.name: one for one in seen}
    unreached = "time ran out before it" if late else "it was not looked at"
    return tuple(
        _result(by_name[one.name], findings, accepted) if one.name in by_name else Result(one.name, "skip", unreached)
        for one in looked
    )


def _result(one: Examined, findings: Sequence[Finding], accepted: Mapping[int, str]) -> Result:
    name, many = one.property.name, len(one.routes)

    def result(status: Any, why: str, mistake: str = "") -> Result:
        return Result(name, status, why, routes=many, seconds=one.seconds, mistake=mistake)

    own = [(place, each) for place, each in enumerate(findings) if each.cause.property == name]
    failed = [each for place, each in own if not each.cause.warning and place not in accepted]
    if failed:
        return result("fail", "; ".join(f"{each.cause.kind} on {named(each.routes, 1)}" for each in failed))
    if one.mistake:
        return result("skip", f"error: edgewise failed here, please report it: {one.mistake}", one.mistake)
    causes = [each.cause for each in findings if any(also.property == name for also in each.consequences)]
    if causes:
        told = dict.fromkeys(f"{cause.property} {cause.kind}" for cause in causes)
        return result("warn", f"follows from {', '.join(told)}, see there")
    if own:
        return result(
            "warn", "; ".join(accepted.get(place) or f"{each.cause.kind}: {each.cause.measured}" for place, each in own)
        )
    if one.skipped:
        return result("skip", one.skipped)
    if not many:
        return result("skip", "nothing of it could be looked at")
    return result("pass", f"on {many} route{'s' * (many != 1)}")


def sights(lab: "Lab") -> tuple[Sight, Sight]:
    """Return the graph that was meant and the one that the plain route has."""
    return _sight(lambda: _expected(lab)), _sight(lambda: _measured(lab))


def _sight(look: Any) -> Sight:
    try:
        return look()
    except OutOfTime:
        return Sight("not known", "time ran out")
    except (Skip, Refused) as why:
        return Sight("not known", str(why))
    except Exception as error:  # what is shown first must not hide what was found
        return Sight("not known", f"looking failed: {type(error).__name__}: {error}")


def _expected(lab: "Lab") -> Sight:
    found = lab.expected()
    says = f"{found.source}: {found.says}" if found.says not in ("", "as declared") else found.source
    return Sight("no graph value" if found.graph is None else repr(found.graph), says, _drawn(found.cells))


def _measured(lab: "Lab") -> Sight:
    found = lab.measured(lab.plain)
    return Sight(
        "no graph value" if found.graph is None else repr(found.graph), f"on {brief(lab.plain)}", _drawn(found.cells)
    )


def _drawn(cells: Any) -> tuple[str, ...]:
    if cells is None:
        return ()
    return tuple("".join("■" if one else "·" for one in row) for row in cells.tolist())
