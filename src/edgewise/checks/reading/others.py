"""Whether a row goes by its own mask and positions, or by another row's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calling import Refused
from edgewise.checks.finding import Observation
from edgewise.checks.given import Given
from edgewise.checks.reading.remembered import readings
from edgewise.checks.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab import Lab

__all__ = ["masks_of_others"]

_SAID = "a row goes by its own mask and positions alone"


def masks_of_others(lab: "Lab", name: str, routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield each route on which a row comes out otherwise when another row's mask, documents or positions change."""
    for route in routes:
        if route.batch < 2 or route.cached:
            continue
        given = lab.given(route)
        try:
            if route.mask in ("left", "right") and given.keep is not None:
                yield from _masks(lab, name, route, given)
            if route.packed:
                yield from _positions(lab, name, route, given)
        except Refused:
            continue


def _masks(lab: "Lab", name: str, route: Route, given: Given) -> Iterator[Observation]:
    keep = given.keep
    assert keep is not None
    last = given.batch - 1
    other = keep.clone()
    other[0] = keep[last]
    by_other = _moves(lab, route, given, given.replace(keep=other), last, keep[last])
    own = keep.clone()
    own[last] = True
    by_own = _moves(lab, route, given, given.replace(keep=own), last, keep[last])
    if by_other is None:
        swapped = keep.clone()
        swapped[last] = keep[0]
        by_other = _moves(lab, route, given, given.replace(keep=swapped), 0, keep[0])
    if by_other is None:
        return
    wrong = {one.kind for one in readings(lab, route)}
    if wrong & {"E2", "E3"}:
        return  # told already, with the masks as attention was handed them
    if by_own is None:
        kind, likely = "E3", "the mask of row 0 is used for all rows"
    elif wrong:
        kind, likely = "E2", "masks are given to heads or rows in the wrong order: each row is hidden by another's mask too"
    else:
        kind, likely = "E3", "positions counted from the mask of one row are used for all"
    yield Observation(
        name, kind, route, f"row {last} moves by {by_other:.2g} with the mask of row 0", _SAID, likely, size=by_other
    )


def _positions(lab: "Lab", name: str, route: Route, given: Given) -> Iterator[Observation]:
    said = lab.subject.documents or lab.subject.positions
    if said is None or "batch" not in said.shape or given.positions is None or given.documents is None:
        return
    positions, documents = given.positions.clone(), given.documents.clone()
    positions[0] = torch.arange(given.length, device=positions.device)
    documents[0] = 0
    moved = _moves(lab, route, given, given.replace(positions=positions, documents=documents), 1, None)
    if moved is not None:
        yield Observation(
            name,
            "E3",
            route,
            f"row 1 moves by {moved:.2g} with the positions or documents of row 0",
            _SAID,
            "positions or documents of row 0 are used for all rows",
            size=moved,
        )


def _moves(lab: "Lab", route: Route, given: Given, other: Given, row: int, keep: Tensor | None) -> float | None:
    """Return how far the real outputs of a row move from one input to the other; None where they are still."""
    before, after = lab.out(given, route), lab.asked(other, route)
    one, two = before[row : row + 1], after[row : row + 1]
    if keep is not None and keep.shape[-1] == one.shape[-2]:
        one, two = one[..., keep, :], two[..., keep, :]
    usual = one.isfinite() & two.isfinite()
    return lab.close(one.masked_fill(~usual, 0), two.masked_fill(~usual, 0), replace(route))
