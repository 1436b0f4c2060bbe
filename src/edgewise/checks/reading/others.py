"""Whether a row goes by its own mask, or by another row's."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Other", "moves", "others_mask"]


class Other(NamedTuple):
    """A row that goes by another row's mask."""

    row: int
    by: int
    size: float
    own: bool
    """Whether it goes by its own as well."""

    @property
    def cause(self) -> tuple[str, str]:
        """Kind and cause, where what it reads is wrong."""
        if self.own:
            return "E2", "masks are given to heads or rows in the wrong order: a row is hidden by another's mask too"
        return "E3", f"the mask of row {self.by} is used for other rows"


def others_mask(lab: "Lab", route: Route, given: Given) -> Other | None:
    """Return how far a row moves with another row's padding mask, the tokens being the same; None where it does not."""
    return lab.once(("others' mask", route), lambda: _others_mask(lab, route, given))


def _others_mask(lab: "Lab", route: Route, given: Given) -> Other | None:
    keep = given.keep
    if route.batch < 2 or route.cached or keep is None or route.mask not in ("left", "right"):
        return None
    last = given.batch - 1
    own, other, swapped = keep.clone(), keep.clone(), keep.clone()
    own[last], other[0], swapped[last] = True, keep[last], keep[0]
    moved = moves(lab, route, given, given.replace(keep=other), last, keep[last])
    by = 0
    if moved is None:
        moved, by = moves(lab, route, given, given.replace(keep=swapped), 0, keep[0]), last
    if moved is None:
        return None
    return Other(last - by, by, moved, moves(lab, route, given, given.replace(keep=own), last, keep[last]) is not None)


def moves(lab: "Lab", route: Route, given: Given, other: Given, row: int, keep: Tensor | None) -> float | None:
    """Return how far the real outputs of a row move from one input to the other; None where they are still."""
    before, after = lab.out(given, route), lab.asked(other, route)
    one, two = before[row : row + 1], after[row : row + 1]
    if keep is not None and keep.shape[-1] == one.shape[-2]:
        one, two = one[..., keep, :], two[..., keep, :]
    usual = one.isfinite() & two.isfinite()
    return lab.close(one.masked_fill(~usual, 0), two.masked_fill(~usual, 0), replace(route))
