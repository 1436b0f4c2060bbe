"""A row of an input, measured on one route, beside what was meant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.lab.influence import Influence
from edgewise.checks.lab.sites import Seen
from edgewise.checks.reading.meant import Meant
from edgewise.checks.reading.reading import Reading
from edgewise.checks.reading.traced import Mistake
from edgewise.checks.reading.words import told

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Calls", "Row"]

Cells = Bool[np.ndarray, "query key"]


@dataclass(frozen=True, eq=False)
class Calls:
    """What tracing saw on a route."""

    calls: Sequence[Seen]
    found: Sequence[Mistake]
    """What is wrong with masks, on any row."""
    layers: int
    """How many there are; 0 where nobody knows."""
    whole: bool
    """Whether every call of attention was seen, is explained, and can be compared with what was meant."""


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the input, measured."""

    lab: "Lab"
    route: Route
    given: Given
    row: int
    influence: Influence
    moved: Cells
    meant: Meant
    judged: Cells
    seen: Calls

    @property
    def extra(self) -> Cells:
        """What is read and should not be."""
        return self.moved & ~self.meant.cells & self.judged

    @property
    def missing(self) -> Cells:
        """What is not read and should be."""
        return ~self.moved & self.meant.cells & self.judged

    def reading(self, kind: str, likely: str, *, site: str = "", head: int | None = None) -> Reading:
        """Return what is wrong, in words."""
        measured, expected = told(self.moved, self.meant.cells, self.judged)
        differs = self.extra if self.extra.any() else self.missing
        size = float(self.influence.size[differs].max()) if differs.any() else float("nan")
        return Reading(self.route, kind, likely, measured, expected, differs, site, head, size, self.influence.noise)
