"""Heads seen from both sides: which tokens a head's rows are made of, and where what a head gives out ends up.

A row of queries, keys or values at the first site comes from its own token alone, and a row that the last site gives
out moves its own output alone: unless heads were split or merged without the transpose between.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.lab.changes import changes_of
from edgewise.checks.lab.movement import apart
from edgewise.checks.lab.random_input import SPECIAL
from edgewise.checks.lab.sites import Seen
from edgewise.tracing import Attention, Captured, Watch, trace, watched

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Reads", "Writes", "reads", "writes"]


@dataclass(frozen=True, eq=False)
class Reads:
    """What the first site's rows are made of."""

    site: str
    query: Tensor
    """bool (heads, query, token): the row moves when the token changes."""
    key: Tensor
    """bool (groups, key, token)"""
    value: Tensor
    """bool (groups, key, token)"""


@dataclass(frozen=True, eq=False)
class Writes:
    """Where the last site's rows go."""

    site: str
    moved: Tensor
    """bool (heads, row, query): the output at the query moves with the row."""


def reads(lab: "Lab", route: Route) -> Reads | None:
    """Which tokens the first site's rows come from; None where no site is seen, or the target reads none."""
    given = lab.given(route)
    target = lab.traced(route)
    if lab.subject.reads not in ("ids", "floats") or route in lab.mixing or route.cached:
        return None
    subject, length = lab.subject, given.length
    copies = given.rows([0] * length)
    tries = changes_of(given, "tokens", 0, vocabulary=subject.vocabulary, low=SPECIAL, seed=lab.seed, pad=subject.pad)
    tokens = copies.tokens.clone()
    for place, change in enumerate(tries[0][:length]):
        tokens[place, change.token] = change.value

    def first(asked: Given) -> Captured | None:
        with trace(target, check="none", copy=True) as run:
            lab.asked(asked, route)
        own = (one for one in run.calls if one.site.kind == "self" and one.query.shape[2] == length)
        return next(own, None)

    try:
        still, moved = first(copies), first(copies.replace(tokens=tokens))
    except (Refused, RuntimeError):
        return None
    if still is None or moved is None or still.query.shape[0] != length or still.query.shape != moved.query.shape:
        return None
    found = (_moved(getattr(moved, name), getattr(still, name)) for name in ("query", "key", "value"))
    return Reads(still.site.name, *(one.permute(1, 2, 0) for one in found))


def writes(lab: "Lab", route: Route) -> Writes | None:
    """Which outputs move with each row that the last site gives out; None where no site is seen."""
    given = lab.given(route)
    calls = _calls(lab, route)
    target = lab.traced(route)
    if not calls or route in lab.mixing or route.cached:
        return None
    last = calls[-1]
    heads, rows = last.heads, last.query.shape[2]
    copies = given.rows([0] * (heads * rows))

    def change(out: Tensor) -> Tensor:
        if out.shape[:3] != (heads * rows, heads, rows):
            raise Refused("its attention has other axes than its input")
        shifted = out.clone()
        places = torch.arange(heads * rows)
        shifted[places, places // rows, places % rows] += 1 + out.abs().amax()
        return shifted

    try:
        before = _with(lab, route, copies, target, len(calls), lambda out: out.clone())
        after = _with(lab, route, copies, target, len(calls), change)
    except (Refused, RuntimeError):
        return None
    moved = apart(after, before)
    if moved.shape != (heads * rows, rows):
        return None
    return Writes(last.site, (moved > _floor(before)).reshape(heads, rows, rows))


def _with(
    lab: "Lab", route: Route, given: Given, target: object, many: int, change: Callable[[Tensor], Tensor]
) -> Tensor:
    """The outputs with what the last of so many calls gives out changed."""
    seen = 0

    def listener(attention: Attention, original: Callable[[], Tensor]) -> Tensor:
        nonlocal seen
        seen += 1
        out = original()
        if seen != many:
            return out
        attention.note = "swapped"
        return change(out)

    with watched(Watch(target, listener, changes=True)):
        return lab.asked(given, route)


def _calls(lab: "Lab", route: Route) -> tuple[Seen, ...]:
    try:
        return lab.calls(route)
    except Refused:
        return ()


def _moved(one: Tensor, other: Tensor) -> Tensor:
    return apart(one, other) > _floor(other)


def _floor(tensor: Tensor) -> float:
    size = float(tensor.detach().abs().nan_to_num(0, 0, 0).max()) if tensor.numel() else 0.0
    return 64 * torch.finfo(tensor.dtype).eps * size
