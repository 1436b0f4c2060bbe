"""A small lab that knows one route and what it is compared with, to look at one property again quickly."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgewise.checks.calls.route import Route
from edgewise.checks.causes.consequences import VISIBILITY
from edgewise.checks.causes.ways import plainer
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Narrow", "again", "fed_alike"]


class Narrow:
    """A lab with few routes; all else is the lab's own."""

    def __init__(self, lab: "Lab", route: Route) -> None:
        self._lab, self._route = lab, route
        self._kept = {route, lab.plain, *plainer(route)}
        # The same with weights not asked for, as a target that can be asked has it.
        self._kept |= {replace(one, weights=lab.plain.weights) for one in plainer(route) if one.weights is None}
        self._kept |= {replace(one, mask=lab.plain.mask) for one in self._kept if one.mask == "none"}

    @property
    def routes(self) -> tuple[Route, ...]:
        """The route, and those that it is compared with."""
        return (self._lab.plain, *(one for one in self._kept if one != self._lab.plain))

    def where(self, **fixed: Any) -> list[Route]:
        """Those of its routes that have these choices."""
        found = [one for one in self._lab.where(**fixed) if one in self._kept]
        mine = all(getattr(self._route, name) == value for name, value in fixed.items())
        return [*found, self._route] if mine and self._route not in found else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lab, name)


def again(one: Property, lab: Any, seen: Observation, route: Route) -> Observation | None:
    """Return what a property sees of the same when it looks at one route again; None where it is gone."""
    try:
        found = list(_found(one, Narrow(lab, route)))
    except Skip:
        return None
    # Few tokens show that edges are wrong, but not always how.
    alike = [each for each in found if each.route == route and (each.kind == seen.kind or seen.property in VISIBILITY)]
    return min(alike, key=lambda each: each.kind != seen.kind, default=None)


def _found(one: Property, lab: Any) -> Iterator[Observation]:
    try:
        yield from one.examine(lab)
    except Skip:
        return


def fed_alike(route: Route, length: int) -> Route:
    """Return a route whose cache is fed in the same manner at another length."""
    if not route.cached:
        return route
    prompt = max(1, length // 2 - 1)
    if set(route.cached) == {1}:
        return replace(route, cached=(1,) * length)
    if set(route.cached[1:]) == {1}:
        return replace(route, cached=(prompt, *(1,) * (length - prompt)))
    chunks = (prompt, 2, length - prompt - 2) if length - prompt > 2 else (prompt, length - prompt)
    return replace(route, cached=chunks)
