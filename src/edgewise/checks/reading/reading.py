"""What is wrong with who reads whom on one route: at most one thing a place, each with its kind."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation

__all__ = ["Reading"]


@dataclass(frozen=True, eq=False)
class Reading:
    """One difference between what is read and what was meant."""

    route: Route
    kind: str
    likely: str
    measured: str
    expected: str
    differs: Bool[np.ndarray, "query key"]
    """Where they differ."""
    site: str = ""
    head: int | None = None
    size: float = float("nan")
    noise: float = float("nan")
    warning: bool = False

    def observation(self, name: str) -> Observation:
        """Return it as an observation of a property."""
        places = np.argwhere(self.differs)
        query, key = (int(places[0][0]), int(places[0][1])) if len(places) else (None, None)
        return Observation(
            property=name,
            kind=self.kind,
            route=self.route,
            measured=self.measured,
            expected=self.expected,
            likely=self.likely,
            site=self.site,
            head=self.head,
            query=query,
            key=key,
            size=self.size,
            noise=self.noise,
            warning=self.warning,
        )
