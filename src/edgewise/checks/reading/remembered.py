"""What is wrong on each route, found once for each lab and handed to every property that asks."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from edgewise.checks.calling import Refused
from edgewise.checks.finding import Observation
from edgewise.checks.reading.looked import looked
from edgewise.checks.reading.reading import Reading
from edgewise.checks.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab import Lab

__all__ = ["observed", "readings", "taken"]


def readings(lab: "Lab", route: Route) -> tuple[Reading, ...]:
    """Return what is wrong with who reads whom on a route; nothing where the target does not take it."""
    return lab._once(("reading", route), lambda: _made(lab, route))


def _made(lab: "Lab", route: Route) -> tuple[Reading, ...]:
    try:
        return tuple(looked(lab, route))
    except Refused:
        return ()


def observed(lab: "Lab", name: str, kinds: Sequence[str], routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield what is wrong on these routes and of these kinds, as observations of a property."""
    for route in routes:
        lab.takes(route)  # whoever notes which routes a property looks at is told, remembered or not
        for one in readings(lab, route):
            if one.kind in kinds:
                yield one.observation(name)


def taken(lab: "Lab", **fixed: Any) -> list[Route]:
    """Return the routes to look at: those that are so and that the target takes, padded ones last."""
    return sorted(lab.where(**fixed), key=lambda one: one.mask in ("left", "right"))
