"""The smallest input that still shows a fault: fewer tokens, one sequence."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.calls.route import Route
from edgewise.checks.causes.narrow import again, fed_alike
from edgewise.checks.finding import Finding, Observation
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Smallest", "shrunk"]

LEAST = 2
SECONDS = 3.0
"""That may be spent on one finding."""


class Smallest:
    """The smallest length and route that show it, and what is seen there."""

    def __init__(self, lab: "Lab", route: Route, seen: Observation) -> None:
        self.lab, self.route, self.seen = lab, route, seen

    def __str__(self) -> str:
        tokens = f"{self.lab.length} token{'s' * (self.lab.length != 1)}"
        fed = f", fed {'+'.join(map(str, self.route.cached))}" if self.route.cached else ""
        many = "one pad" if self.lab.length == LEAST else "pads"
        padded = f", {many} on the {self.route.mask}" if self.route.mask in ("left", "right") else ""
        return f"{tokens}{fed}, batch of {'one' if self.route.batch == 1 else self.route.batch}{padded}"


def shrunk(finding: Finding, one: Property, make: "Callable[[int], Lab]", length: int) -> Smallest | None:
    """Return the smallest input that shows a finding again, trying lengths from below; None where none does.

    Args:
        finding: what was found.
        one: the property that found it.
        make: a lab for inputs of a length.
        length: at which it was found.
    """
    route = finding.cause.route
    batches = (1, route.batch) if route.batch > 1 else (route.batch,)
    until = time.monotonic() + SECONDS
    for tokens in range(LEAST, length + 1):
        if time.monotonic() > until:
            return None
        lab = make(tokens)
        for batch in batches:
            smaller = replace(fed_alike(route, lab.length), batch=batch)
            seen = again(one, lab, finding.cause, smaller)
            if seen is not None:
                return Smallest(lab, smaller, seen)
    return None
