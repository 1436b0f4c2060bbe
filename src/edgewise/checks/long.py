"""Long inputs of a large target: measured exactly on the plain route, while the other routes have few tokens.

Exact dependence of T tokens takes T changed copies of an input, T² tokens a route. What goes wrong on one route alone
(a mask that is dropped, a cache) shows with few tokens; a pattern that begins late shows on the plain route.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.examine import Examined, examined
from edgewise.checks.lab.routes import LENGTH

if TYPE_CHECKING:
    from edgewise.checks.calls.subject import Subject
    from edgewise.checks.lab.lab import Lab

__all__ = ["along", "length_elsewhere", "on_plain_route"]

LOOKED = ("future-leak", "lost-visibility", "wrong-pattern")
LARGE = 2e10
"""Parameters times tokens squared: the work of a hundred routes above this takes minutes."""


def length_elsewhere(subject: "Subject", length: int) -> int:
    """Return how many tokens an input has on other routes than the plain one."""
    numbers = sum(one.numel() for module in subject.held for one in module.parameters())
    return LENGTH if length > LENGTH and numbers * length**2 > LARGE else length


def on_plain_route(lab: "Lab") -> "Lab":
    """Return the lab, which knows of no other route any more."""
    lab.routes = (lab.plain,)
    return lab


def along(seen: Examined, long: "Lab | None") -> Examined:
    """Return what a property saw, with what it sees of long inputs where it is about who reads whom."""
    if long is None or seen.late or seen.property.name not in LOOKED:
        return seen
    also = examined(seen.property, long)
    return replace(
        seen,
        observations=(*seen.observations, *also.observations),
        routes=tuple(dict.fromkeys((*seen.routes, *also.routes))),
        mistake=seen.mistake or also.mistake,
        late=also.late,
        seconds=seen.seconds + also.seconds,
    )
