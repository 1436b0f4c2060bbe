"""Whether a row goes by its own mask and positions where what it reads is right: the rest that may be another row's."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation
from edgewise.checks.reading.others import Other, moves, others_mask
from edgewise.checks.reading.remembered import readings

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

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
    if readings(lab, route):
        return  # told already, with what is read wrongly by it
    found = others_mask(lab, route, given)
    if found is not None and not (route.training and _beside(lab, route, given, found)):
        yield Observation(
            name,
            "E3",
            route,
            f"row {found.row} moves by {found.size:.2g} with the mask of row {found.by}",
            _SAID,
            "positions counted from the mask of one row are used for all",
            size=found.size,
        )


def _beside(lab: "Lab", route: Route, given: Given, found: Other) -> bool:
    """Return whether the row's own first attention gives the same, so that something else looks at the batch.

    In training experts with a capacity and statistics over the batch do, by design.
    """
    assert given.keep is not None
    changed = given.keep.clone()
    changed[found.by] = given.keep[found.row]
    one, two = (_first(lab, route, each) for each in (given, given.replace(keep=changed)))
    real = given.keep[found.row]
    return one is not None and two is not None and torch.equal(one[found.row][:, real], two[found.row][:, real])


def _first(lab: "Lab", route: Route, given: Given) -> Tensor | None:
    """Return what the first attention over the tokens gives, (batch, heads, query, width)."""
    calls = (one for one in lab.calls(route, given) if one.kind == "self" and one.query.shape[2] == given.length)
    return next((one.out for one in calls if one.out.shape[0] == given.batch), None)


def _positions(lab: "Lab", name: str, route: Route, given: Given) -> Iterator[Observation]:
    said = lab.subject.documents or lab.subject.positions
    if said is None or "batch" not in said.shape or given.positions is None or given.documents is None:
        return
    positions, documents = given.positions.clone(), given.documents.clone()
    positions[0] = torch.arange(given.length, device=positions.device)
    documents[0] = 0
    moved = moves(lab, route, given, given.replace(positions=positions, documents=documents), 1, None)
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
