"""Whether a row goes by its own mask and positions where what it reads is right: the rest that may be another row's."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation
from edgewise.checks.reading.others import moves, others_mask
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
    if found is not None:
        yield Observation(
            name,
            "E3",
            route,
            f"row {found.row} moves by {found.size:.2g} with the mask of row {found.by}",
            _SAID,
            "positions counted from the mask of one row are used for all",
            size=found.size,
        )


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
