"""`check`: is this model's attention what it was meant to be? Every property, on every route of a target."""

import difflib
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from edgewise.checks.baseline import Baseline
from edgewise.checks.declared import Declared
from edgewise.checks.examine import Examined, examined
from edgewise.checks.finding import Finding
from edgewise.checks.folding import Looked, folded
from edgewise.checks.infer import subject_of
from edgewise.checks.lab import Lab
from edgewise.checks.patience import Clock, OutOfTime, patience
from edgewise.checks.properties import PROPERTIES
from edgewise.checks.property import Property
from edgewise.checks.replay import Origin
from edgewise.checks.report import Report, Result, Sight
from edgewise.checks.route import Route
from edgewise.checks.settled import undisturbed
from edgewise.checks.sharpen import sharpened
from edgewise.checks.sound import Doubt, doubted, doubts, untold
from edgewise.checks.subject import Subject
from edgewise.checks.verdicts import results, sights
from edgewise.checks.ways import named
from edgewise.errors import ArgumentError, EdgewiseError
from edgewise.graphs import Graph, parse
from edgewise.tracing import Target
from edgewise.tracing import target as named_target

__all__ = ["Tell", "check", "chosen"]

CALLING = 60.0
"""Seconds that finding out how a target is called may take, where nobody says."""

Tell = Callable[[str, int, int], None]
"""Told what is looked at, how many are done, and how many there are."""


def check(
    target: Any,
    *,
    graph: str | Graph | None = None,
    window_counts_self: bool = True,
    scale: float | None = None,
    pads_attended: bool = False,
    sinks: bool = False,
    positions: bool | None = None,
    pad: int | None = None,
    allow: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    baseline: Baseline | None = None,
    subject: Subject | None = None,
    seed: int = 0,
    length: int = 8,
    budget: float | None = None,
    tell: Tell | None = None,
    **told: Any,
) -> Report:
    """Look at every property of attention on every route of a target, and report what was found.

    Args:
        target: a module, a function of attention, a function without arguments that makes either, a name as
            `edgewise.tracing.target` takes it, or what that returns.
        graph: who may read whom, as "window(4)" or a graph; None where nobody says.
        window_counts_self: whether the n keys of window(n) count the query's own.
        scale: what scores are multiplied by; None for 1/√width.
        pads_attended: whether padding is read by design.
        sinks: whether weights may sum to less than one by design.
        positions: whether the order of tokens matters by design; None where nobody says.
        pad: the id of padding.
        allow: properties that may fail, each with the reason.
        only: properties to look at; None for all.
        skip: properties not to look at.
        baseline: failures that are known and not counted.
        subject: how the target is called, in full; None to find out.
        seed: of the inputs.
        length: tokens of an input, at least 4.
        budget: seconds that may be spent; what was not reached is told. None for as many as needed.
        tell: told of progress.
        **told: parts of how the target is called, like layout="time first"; the rest is found out.

    Raises:
        ArgumentError: a property, a graph or a declaration is none, or the target cannot be called.
        EdgewiseError: a name leads nowhere; see `edgewise.tracing.target`.

    Example:
        >>> layer = nn.MultiheadAttention(16, 4, batch_first=True).eval()
        >>> report = check(layer, only=["future-leak", "batch-leak"], graph="full()")
        >>> report.result("batch-leak").status, report.exit_status
        ('pass', 0)
    """
    looked = chosen(only, skip)
    if length < 4:
        raise ArgumentError(f"length must be at least 4 tokens, so that edges can be told apart; got {length}")
    declared = Declared(
        graph=parse(graph) if isinstance(graph, str) else graph,
        window_counts_self=window_counts_self,
        scale=scale,
        pads_attended=pads_attended,
        sinks=sinks,
        positions=positions,
        pad=pad,
        allowed={_known(name): why for name, why in (allow or {}).items()},
    )
    name, found = made(target)
    options = _told(
        graph=graph, scale=scale, positions=positions, pad=pad, pads_attended=pads_attended or None
    ) | _told(sinks=sinks or None, window_counts_self=None if window_counts_self else False, seed=seed or None, **told)
    began, settings = time.perf_counter(), {"seed": str(seed), "length": str(length), **_versions()}
    with undisturbed(), patience(budget) as clock:
        try:
            how = subject or subject_of(found, declared, seconds=budget or CALLING, **told)
        except OutOfTime:
            return _unreached(name, looked, settings, clock.spent(), budget)
        lab = Lab(how, declared, length=length, seed=seed, budget=clock.left())
        expected, measured = sights(lab)
        doubt = _doubts(lab)
        seen, late = _examined(looked, lab, clock, tell)
        seen = [doubted(one, doubt) for one in seen]
        findings = folded(Looked(one.property.name, one.observations, one.routes) for one in seen)
        findings = _sharpened(findings, looked, lab, Origin(name, options), tell)
    accepted = _accepted(name or how.name, findings, declared.allowed, baseline)
    return Report(
        target=name or how.name,
        subject=str(how),
        expected=expected,
        measured=measured,
        results=tuple(untold(one, doubt) for one in results(looked, seen, findings, accepted, late)),
        findings=findings,
        accepted=accepted,
        routes=tuple(dict.fromkeys(route for one in seen for route in one.routes)),
        passes=lab.passes,
        seconds=time.perf_counter() - began,
        notes=(*_late(budget if late else None), *_failing(lab)),
        settings=settings,
        unsound=doubt.why,
    )


def chosen(only: Sequence[str] | None, skip: Sequence[str] = ()) -> tuple[Property, ...]:
    """Return the properties that are asked for, in their order.

    Raises:
        ArgumentError: one is asked for that there is not, or none is left.
    """
    wanted = [_known(name) for name in only] if only else [one.name for one in PROPERTIES]
    left = set(wanted) - {_known(name) for name in skip}
    if not left:
        raise ArgumentError("no property is left to look at: `only` and `skip` name the same")
    return tuple(one for one in PROPERTIES if one.name in left)


def _known(name: str) -> str:
    names = [one.name for one in PROPERTIES]
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f": did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
    raise ArgumentError(f"there is no property {name!r}{hint}")


def made(target: Any) -> tuple[str, Any]:
    """Return the name by which a target can be found again, "" where it has none, and the target itself."""
    if isinstance(target, str):
        target = named_target(target, called=False)
    if isinstance(target, Target):
        return target.name, target.model
    if not isinstance(target, nn.Module) and callable(target) and _wants_nothing(target):
        return "", _called(target)
    if not callable(target):
        raise ArgumentError(f"a target is a module, a function, a name or what makes one; got {type(target).__name__}")
    return "", target


def _wants_nothing(factory: Callable[..., Any]) -> bool:
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError):
        return False
    return True


def _called(factory: Callable[[], Any]) -> Any:
    try:
        found = factory()
    except EdgewiseError:
        raise
    except (Exception, SystemExit) as error:
        name = getattr(factory, "__name__", type(factory).__name__)
        raise ArgumentError(f"making the target failed: {name}() raised {type(error).__name__}: {error}") from error
    if not callable(found):
        raise ArgumentError(f"wanted a factory to make a module or a function; it made a {type(found).__name__}")
    return found.eval() if isinstance(found, nn.Module) else found


def _doubts(lab: Lab) -> Doubt:
    try:
        return doubts(lab)
    except OutOfTime:
        return Doubt()


def _examined(looked: Sequence[Property], lab: Lab, clock: Clock, tell: Tell | None) -> tuple[list[Examined], bool]:
    """Return what each property saw, and whether time ran out before all were looked at."""
    seen: list[Examined] = []
    for done, one in enumerate(looked):
        if tell is not None:
            tell(one.name, done, len(looked))
        if clock.left() == 0.0:
            return seen, True
        seen.append(examined(one, lab))
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


def _unreached(
    name: str, looked: Sequence[Property], settings: Mapping[str, str], seconds: float, budget: float | None
) -> Report:
    """Return the report of a target that took all the time before it was known how to call it."""
    why = "time ran out before it was known how the target is called"
    return Report(
        target=name or "target",
        subject="not found out",
        expected=Sight("not known"),
        measured=Sight("not known"),
        results=tuple(Result(one.name, "skip", why) for one in looked),
        seconds=seconds,
        notes=(f"one call takes long: {budget or 0:g} s were not enough; give a larger budget",),
        settings=settings,
    )


def _late(budget: float | None) -> tuple[str, ...]:
    return () if budget is None else (f"time ran out after {budget:g} s: what was not reached is skipped",)


def _failing(lab: Lab) -> Iterator[str]:
    """Yield the routes on which the target itself fails, so that nothing is said of them."""
    whys: dict[str, list[Route]] = {}
    for route, why in lab.refused.items():
        if why.startswith(("it raises", "it ran out")):
            whys.setdefault(why, []).append(route)
    for why, routes in whys.items():
        yield f"not looked at: {named(routes)}, where {why}"


def _told(**given: Any) -> dict[str, Any]:
    """What was said, without what was left as it is."""
    return {name: value for name, value in given.items() if value is not None}


def _versions() -> dict[str, str]:
    import torch

    from edgewise import __version__

    return {"edgewise": __version__, "torch": str(torch.__version__)}
