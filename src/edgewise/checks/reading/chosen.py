"""Tokens that are not read because of what they hold: top-k, sparsemax and their kind read others in another input."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.reading.row import Row
from edgewise.checks.reading.traced import Mistake, edges_of_row

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["chosen", "chosen_in_call"]

Cells = Bool[np.ndarray, "query key"]

TRIES = 32
"""Inputs looked at, at most: one head that reads its best of eight keys misses one of them in all with 1 %."""

FEW = 2
"""Inputs after which a mask is taken for fixed, where nothing that is missing was read in any of them."""


def chosen(row: Row) -> bool:
    """Return whether each token that is not read, and should be, is read in another input."""

    def reads(seed: int) -> Cells | None:
        other = _other(row.lab, row.route, row.given, seed)
        return None if other is None else row.lab.influence(row.route, row.row, other).moved.cpu().numpy()

    return _ever(row.missing, reads)


def chosen_in_call(lab: "Lab", route: Route, given: Given, one: Mistake) -> bool:
    """Return the same of the edges of one call of attention."""

    def reads(seed: int) -> Cells | None:
        other = _other(lab, route, given, seed)
        calls = () if other is None else lab.calls(route, other)
        same = next((each for each in calls if (each.site, each.index) == (one.seen.site, one.seen.index)), None)
        return None if same is None else edges_of_row(same, given.batch, one.row, one.head)

    return _ever(one.differs & ~one.got, reads)


def _ever(missing: Cells, reads: Callable[[int], Cells | None]) -> bool:
    left = missing.copy()
    for seed in range(1, TRIES + 1):
        found = reads(seed)
        if found is None or found.shape != left.shape:
            return False
        left &= ~found
        if not left.any():
            return True
        if seed == FEW and bool((left == missing).all()):
            return False
    return False


def _other(lab: "Lab", route: Route, given: Given, seed: int) -> Given | None:
    """Return the input with other numbers in the same places, all that is told of them left as it is."""
    fresh = lab.given(route, given.length, seed)
    if fresh.tokens.shape != given.tokens.shape:
        return None
    tokens = fresh.tokens
    if given.keep is not None and tokens.dim() == 2:
        tokens = tokens.where(given.keep, given.tokens)
    key, value = (old if old is None else new for old, new in ((given.key, fresh.key), (given.value, fresh.value)))
    return given.replace(tokens=tokens, key=key, value=value)
