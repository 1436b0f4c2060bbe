"""`check`: is this model's attention what it was meant to be? Every property, on every route of a target."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgewise.checks.asked import chosen, known, made
from edgewise.checks.baseline import Baseline
from edgewise.checks.calls.settled import undisturbed
from edgewise.checks.calls.subject import Subject
from edgewise.checks.course import Course, Tell
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.long import length_elsewhere, on_plain_route
from edgewise.checks.meaning.declared import Declared
from edgewise.checks.patience import OutOfTime, patience
from edgewise.checks.report import Report
from edgewise.errors import ArgumentError
from edgewise.graphs import Graph, parse

__all__ = ["check"]

CALLING = 60.0
"""Seconds that finding out how a target is called may take, where nobody says."""


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
        length: tokens of an input, at least 4; of a large target on the plain route alone, and 8 on the others.
        budget: seconds that may be spent; what was not reached is told. None for as many as needed.
        tell: told of progress.
        **told: parts of how the target is called, like layout="time first"; the rest is found out.

    Raises:
        ArgumentError: a property, a graph or a declaration is none, or the target cannot be called.
        EdgewiseError: a name leads nowhere; see `edgewise.tracing.target`.

    Example:
        >>> from torch import nn
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
        allowed={known(name): why for name, why in (allow or {}).items()},
    )
    options = _told(
        graph=graph, scale=scale, positions=positions, pad=pad, pads_attended=pads_attended or None
    ) | _told(sinks=sinks or None, window_counts_self=None if window_counts_self else False, seed=seed or None, **told)
    name, found = made(target)
    settings = {"seed": str(seed), "length": str(length), **_versions()}
    course = Course(name, looked, options, settings, budget, baseline, tell)
    with undisturbed(), patience(budget) as clock:
        try:
            how = subject or subject_of(found, declared, seconds=budget or CALLING, **told)
        except OutOfTime:
            return course.unreached(clock.spent())
        few = length_elsewhere(how, length)
        lab, long = (Lab(how, declared, length=one, seed=seed, budget=clock.left()) for one in (few, length))
        return course.report(lab, clock, None if few == length else on_plain_route(long))


def _told(**given: Any) -> dict[str, Any]:
    """What was said, without what was left as it is."""
    return {name: value for name, value in given.items() if value is not None}


def _versions() -> dict[str, str]:
    import torch

    from edgewise import __version__

    return {"edgewise": __version__, "torch": str(torch.__version__)}
