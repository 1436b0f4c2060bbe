"""What is wrong on each route, found once for each lab and handed to every property that asks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.reading.batch import mixing
from edgewise.checks.reading.looked import looked
from edgewise.checks.reading.reading import Reading

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["observed", "readings", "taken"]


def readings(lab: "Lab", route: Route) -> tuple[Reading, ...]:
    """Return what is wrong with who reads whom on a route; nothing where the target does not take it."""
    return lab.once(("reading", route), lambda: _in_context(lab, route, _made(lab, route)))


def _made(lab: "Lab", route: Route) -> tuple[Reading, ...]:
    if route.cached and not lab.expected(route=lab.plain).causal:
        return ()  # what reads both ways cannot be read part by part
    try:
        return _sayable(lab, route, tuple(looked(lab, route)))
    except Refused:
        return ()


def _sayable(lab: "Lab", route: Route, found: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """Return what is wrong, of kinds that some property tells: documents and padding are those of a declared graph."""
    documents = route.packed or lab.subject.documents is not None
    padding = route.mask in ("left", "right") or lab.subject.memory is not None or lab.subject.pads_by_id
    unsaid = ("" if documents else "F") + ("" if padding else "D")
    return tuple(replace(one, kind="C4") if one.kind[0] in unsaid else one for one in found)


def _in_context(lab: "Lab", route: Route, found: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """Return what is wrong, in the light of routes on which more can be seen."""
    if not found:
        return ()
    if route.dtype is not None and route.dtype != "float64":
        return _in_own_dtype(lab, route, found)
    if route.mask == "ones":
        # Whether a mask of ones is joined by or, or replaces the other mask, is seen where it hides something.
        for side in ("right", "left"):
            other = replace(route, mask=side, contiguous=True, training=False)
            more = readings(lab, other) if other in lab.routes else ()
            if any(one.kind == "C3" for one in more):
                why = next(one.likely for one in more if one.kind == "C3")
                return tuple(replace(one, kind="C3", likely=why) if one.kind == "A1" else one for one in found)
    return found


def _in_own_dtype(lab: "Lab", route: Route, found: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """Return what is wrong in another dtype, as it is called in the target's own; what is not wrong there overflows."""
    own = replace(route, dtype=None)
    if mixing(lab, own):
        return ()
    known = readings(lab, own)
    if known:
        first = known[0]
        return tuple(replace(one, kind=first.kind, likely=first.likely) for one in found[:1])
    if not lab.takes(own):
        return found
    return tuple(
        replace(
            one,
            kind="G3",
            likely=f"what hides in {str(lab.subject.dtype).removeprefix('torch.')} does not in {route.dtype}: "
            "the number that hides overflows, or is lost in the cast",
        )
        for one in found
    )


def observed(lab: "Lab", name: str, kinds: Sequence[str], routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield what is wrong on these routes and of these kinds, as observations of a property."""
    for route in routes:
        lab.takes(route)  # whoever notes which routes a property looks at is told, remembered or not
        for one in readings(lab, route):
            if one.kind in kinds:
                yield one.observation(name)


def taken(lab: "Lab", **fixed: Any) -> list[Route]:
    """Return the routes to look at: those that are so and that the target takes, padded ones last."""
    found = sorted(lab.where(**fixed), key=lambda one: one.mask in ("left", "right"))
    if not found and not lab.takes(lab.plain):
        raise Skip(
            f"it cannot be called as it was thought to be{_square(lab)}: "
            f"{lab.refused.get(lab.plain, 'no route is taken')}"
        )
    return found


def _square(lab: "Lab") -> str:
    """Return what may be the reason where as many tokens as channels are the only number that is taken."""
    subject = lab.subject
    if subject.reads != "floats" or not subject.width == subject.length == subject.longest:
        return ""
    return (
        f": it answers for {subject.width} tokens of {subject.width} numbers and no other number of tokens, so it may "
        "take channels before tokens (then hand over a module that transposes) or that length alone (then say length=)"
    )
