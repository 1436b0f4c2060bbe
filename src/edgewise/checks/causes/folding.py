"""From observations to findings: one fault, one finding.

Each property looks on its own, so that one missing mask is seen by several. Here what they saw is put together: first
the routes on which a property saw the same kind of thing, then what follows from something else. A group is folded
under a cause only where the cause can do that (`consequences`) and is there on every route of the group; a difference
between two ways only where the cause is on one of them and not on the other. All else is a fault of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edgewise.checks.calls.route import Route
from edgewise.checks.causes.consequences import LEAKING, VISIBILITY, follows, rank, uneven
from edgewise.checks.causes.ways import choices, nearness, plainer
from edgewise.checks.finding import Finding, Observation

__all__ = ["Looked", "folded"]

OF_NUMBERS = ("path-mismatch", "normalisation", "scale", "head-mapping", "position")


@dataclass(frozen=True)
class Looked:
    """What one property saw, and on which routes it looked."""

    property: str
    observations: tuple[Observation, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class _Group:
    """One kind of one property: where it was seen, and where it was looked for and is right."""

    seen: tuple[Observation, ...]
    clean: tuple[Route, ...]

    @property
    def first(self) -> Observation:
        """The observation on the plainest route: the one that is told."""
        return min(self.seen, key=lambda one: (one.warning, choices(one.route)))

    @property
    def routes(self) -> tuple[Route, ...]:
        """The routes that have it, the plainest first."""
        return tuple(sorted({one.route for one in self.seen}, key=choices))

    @property
    def warning(self) -> bool:
        """Whether it is only worth a look."""
        return all(one.warning for one in self.seen)

    def on(self, route: Route) -> bool:
        """Whether it is on a route: as on the nearest route that was looked at."""
        places = [(nearness(one, route), True) for one in self.routes]
        places += [(nearness(one, route), False) for one in self.clean]
        near = [(place, seen) for place, seen in places if place is not None]
        return max(near, default=(0, False))[1]


_Fault = tuple[_Group, list[_Group]]


def folded(looked: Iterable[Looked]) -> tuple[Finding, ...]:
    """Return the faults behind what the properties saw, those that explain most first.

    Example:
        >>> asked = Route(weights=True)
        >>> leak = Observation("future-leak", "A1", asked, "row 0 sees keys 0…5", "row 0 sees key 0")
        >>> other = Observation("path-mismatch", "L6", asked, "differs by 0.3", "equal")
        >>> found = folded([
        ...     Looked("future-leak", (leak,), (Route(), asked)),
        ...     Looked("path-mismatch", (other,), (Route(), asked)),
        ... ])
        >>> [(one.cause.kind, [also.kind for also in one.consequences]) for one in found]
        [('A1', ['L6'])]
    """
    groups = sorted(_groups(looked), key=lambda one: (one.warning, rank(one.first.kind), choices(one.first.route)))
    faults: list[_Fault] = []
    for group in groups:
        causes = [(cause, under) for cause, under in faults if _explained(group, cause)]
        if causes:
            causes[0][1].append(group)
        else:
            rest = _left(group, [cause for cause, _ in faults])
            faults.append((rest, []))
    return tuple(_finding(cause, under) for cause, under in _joined(faults))


def _joined(faults: list[_Fault]) -> list[_Fault]:
    """Faults without those that follow from one that was looked at later, as it is seldom the cause of anything."""
    left = list(faults)
    for fault in reversed(faults):
        group, under = fault
        causes = [
            (cause, also)
            for cause, also in left
            if cause is not group and _explained(group, cause) and not _explained(cause, group)
        ]
        if causes:
            causes[0][1].extend([group, *under])
            left.remove(fault)
    return left


def _groups(looked: Iterable[Looked]) -> list[_Group]:
    found: list[_Group] = []
    looked = list(looked)
    visible = {each.route for one in looked if one.property in VISIBILITY for each in one.observations}
    for one in looked:
        kinds = dict.fromkeys((each.kind, each.warning) for each in one.observations)
        for kind, warning in kinds:
            seen = tuple(each for each in one.observations if (each.kind, each.warning) == (kind, warning))
            broken = visible if one.property in VISIBILITY else {each.route for each in one.observations}
            clean = tuple(route for route in dict.fromkeys(one.routes) if route not in broken)
            found.append(_Group(seen, clean))
    return found


def _explained(group: _Group, cause: _Group) -> bool:
    return all(_follows(one, cause) for one in group.seen)


def _follows(one: Observation, cause: _Group) -> bool:
    """Whether something seen on one route follows from a cause."""
    if cause.warning and not one.warning:
        return False
    first = cause.first
    if one.property == first.property:
        return cause.on(one.route) or (one.warning and one.kind == first.kind)
    if first.kind == "G1" and one.route.mask == "ones" and one.property in OF_NUMBERS:
        # Ones read the wrong way round hide everything alike, which moves numbers, and shows in no edge.
        return any(cause.on(replace(one.route, mask=side)) for side in ("left", "right"))
    if not follows(first.kind, one.property, one.kind):
        return False
    if one.kind == "E3" and first.kind in LEAKING:
        # Padding in another row is what makes the library hand over a mask at all: without it, this row leaks.
        return any(cause.on(replace(one.route, mask=mask)) for mask in ("none", "ones"))
    if one.property == "path-mismatch":
        likes = [one.route, replace(one.route, batch=first.route.batch), replace(one.route, cached=())]
        if uneven(first.kind, cached=bool(one.route.cached)) and any(map(cause.on, likes)):
            return True
        return any(cause.on(one.route) != cause.on(other) for other in plainer(one.route))
    if first.property == "normalisation":  # sums are looked at on few routes, and are the same on their like
        return any(map(cause.on, (one.route, replace(one.route, batch=first.route.batch, training=False, dtype=None))))
    return cause.on(one.route)


def _left(group: _Group, causes: Sequence[_Group]) -> _Group:
    """The part of a group that no cause explains: it is told of those routes alone."""
    rest = tuple(one for one in group.seen if not any(_follows(one, cause) for cause in causes))
    return _Group(rest or group.seen, group.clean)


def _finding(cause: _Group, under: Sequence[_Group]) -> Finding:
    also = tuple(group.first for group in sorted(under, key=lambda one: rank(one.first.kind)))
    return Finding(cause.first, cause.routes, cause.clean, also)
