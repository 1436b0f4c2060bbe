"""The measuring of influence on a route: what to change, whether all at once, and what float64 says of doubts."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Skip
from edgewise.checks.lab.changes import changes_of
from edgewise.checks.lab.gradient import pulls
from edgewise.checks.lab.influence import Influence, Measuring, decided
from edgewise.checks.lab.movement import Ask
from edgewise.checks.lab.random_input import SPECIAL

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["influence_of"]


def influence_of(lab: "Lab", route: Route, row: int, given: Given, of: str) -> Influence:
    """Which outputs of a row depend on which of its tokens; see `Lab.influence`."""
    if lab.subject.reads in ("pixels", "features"):
        raise Skip("it reads no tokens, so that no output depends on one of them")
    if of == "memory" and given.memory is None:
        raise Skip("it reads no memory")
    if of == "memory" and lab.subject.memory_sizes:
        raise Skip("its memory is a picture or a sound, so that no output depends on a token of it")
    out = lab.out(given, route)
    found = out.shape[2 if given.key is not None else 1]
    if found != given.length:
        raise Skip(f"it gives {found} outputs for {given.length} tokens, so that no output stands for a token")
    if given.key is None:
        return _one(lab, route, row, given, of)
    by_value, by_key, by_query = (_one(lab, route, row, given, field) for field in ("value", "key", "tokens"))
    return replace(by_value, keys=by_key.moved, queries=by_query.moved)


def _one(lab: "Lab", route: Route, row: int, given: Given, field: str) -> Influence:
    alone = given.batch == 1 or route in lab.mixing or route in lab.by_place
    found = _measured(lab, route, row, given, field, alone=alone)
    if alone:
        return found
    if found.mixed > found.noise:
        lab.mixing.add(route)
    elif found.placed:
        lab.by_place.add(route)
    else:
        return found
    return replace(_measured(lab, route, row, given, field, alone=True), mixed=found.mixed, placed=found.placed)


def _measured(lab: "Lab", route: Route, row: int, given: Given, field: str, *, alone: bool) -> Influence:
    subject = lab.subject
    dtype = subject.dtype if route.dtype is None else getattr(torch, route.dtype)
    typed = given.to(dtype)
    vocabulary, pad = subject.vocabulary, subject.pad
    tries = changes_of(typed, field, row, vocabulary=vocabulary, low=SPECIAL, seed=lab.seed, pad=pad)
    if alone:
        # Each change costs a call: one other id, or something alike and something large.
        tokens = len({change.token for change in tries[0]})
        tries = [one[:tokens] for one in tries[:2]]
    measuring = Measuring(
        lambda one: lab.asked(one, route),
        typed,
        field,
        row,
        alone,
        dtype,
        pull=_pull(lab, route, row, typed, field, alone=alone),
        exactly=lambda: _exactly(lab, route, row, given, field),
    )
    return decided(measuring, tries)


def _pull(lab: "Lab", route: Route, row: int, given: Given, field: str, *, alone: bool) -> Tensor | None:
    """Gradients, in float64 where that can be had; only of routes in the target's own dtype."""
    if route.dtype is not None or lab.subject.dtype not in (torch.float32, torch.float64):
        return None
    exact = route if lab.subject.dtype == torch.float64 else replace(route, dtype="float64")
    for one in dict.fromkeys((exact, route)):
        typed = given if one == route else given.to(torch.float64)
        chance = torch.Generator().manual_seed(lab.seed + 1)
        try:
            if one != route and not _as_finite(lab, route, one):
                continue
            return pulls(_asking(lab, one), typed, field, row, lab.module(one), alone=alone, generator=chance)
        except Skip:
            raise
        except Exception:
            continue  # a target through which no gradient goes is measured by changes alone, whatever it raises
    return None


def _asking(lab: "Lab", route: Route) -> Ask:
    return lambda given: lab.asked(given, route, gradient=True)


def _as_finite(lab: "Lab", route: Route, other: Route) -> bool:
    """Whether another precision gives numbers where a route does: some constants are made for one alone.

    A mask's may be, so that it is asked on the route itself.
    """

    def found() -> bool:
        given = lab.given(route)
        one, two = lab.out(given, route), lab.out(given, other)
        as_good = (two.isfinite() | ~one.isfinite()).all(-1)
        if given.keep is not None and given.keep.shape == as_good.shape:
            as_good = as_good | ~given.keep
        return bool(as_good.all())

    return lab.once(("as finite", route, other), found)


def _exactly(lab: "Lab", route: Route, row: int, given: Given, field: str) -> Influence | None:
    """What moves in float64, or where there is no such copy, in the target's own dtype if that is finer."""
    own = lab.subject.dtype
    finer = [None if own == torch.float64 else "float64"]
    if route.dtype is not None and torch.finfo(own).eps < torch.finfo(getattr(torch, route.dtype)).eps:
        finer.append(None)
    for exact in dict.fromkeys(replace(route, dtype=one) for one in finer):
        if exact == route:
            continue
        alone = given.batch == 1 or route in lab.mixing or route in lab.by_place
        try:
            if not _as_finite(lab, route, exact):
                continue
            return _measured(lab, exact, row, given, field, alone=alone)
        except Refused:
            continue
    return None
