"""Rows of a batch: whether one is computed from another, or by another's mask or positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from edgewise.checks.calling import Refused
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.given import Given
from edgewise.checks.hypotheses import layouts
from edgewise.checks.movement import apart
from edgewise.checks.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab import Lab

__all__ = ["rows_mixed"]

_ROWS = 3
"""Rows of the batch in which it is looked at who reads whom: with two, a row that reads all looks like a swap."""


@dataclass(frozen=True, eq=False)
class _Mixed:
    """What rows read of each other on a route."""

    cells: Bool[np.ndarray, "batch query batch key"]
    size: float


def rows_mixed(lab: "Lab", name: str, routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield each route on which outputs of one row move with the tokens of another."""
    mixing = [route for route in routes if _mixes(lab, route)]
    plain = set(mixing)
    for route in mixing:
        only_cached = bool(route.cached) and replace(route, cached=()) not in plain
        found = _who_reads_whom(lab, route)
        own = lab.expected(route=route).cells.cpu().numpy()
        kind, likely, sure = ("E4" if only_cached else "E1"), "", not route.training
        if found is not None:
            batch = len(found.cells)
            apart_of_own = ~np.eye(batch * own.shape[0], dtype=bool).reshape(found.cells.shape)
            fits = next((one for one in layouts(own, batch) if _fits(one.cells, found.cells, apart_of_own)), None)
            if fits is not None:
                kind, likely = ("E4" if only_cached else fits.kind), fits.likely
            elif only_cached:
                likely = "with a cache rows read each other and without it they do not: rows of the cache are confused"
            elif _beside(lab, route):
                likely, sure = "something beside attention mixes rows: experts with a capacity, or batch statistics", False
        measured, cell = _told(found)
        yield Observation(
            name,
            kind,
            route,
            measured,
            "no row of the batch moves another",
            likely,
            query=cell[0],
            key=cell[1],
            size=lab.influence(route).mixed,
            noise=lab.influence(route).noise,
            warning=not sure,
        )


def _mixes(lab: "Lab", route: Route) -> bool:
    if route.batch < 2:
        return False
    try:
        found = lab.influence(route)
    except (Refused, Skip):
        return False
    return found.mixed > found.noise


def _who_reads_whom(lab: "Lab", route: Route) -> _Mixed | None:
    """Return which output of which row moves with which token of which row, each changed alone."""
    wide = replace(route, batch=_ROWS)
    given = lab.given(wide)
    chance = torch.Generator().manual_seed(lab.seed + 7)
    try:
        before = lab.out(given, wide)
        if before.dim() != 3 or before.shape[1] != given.length:
            return None
        sizes = torch.stack([
            torch.stack([
                apart(lab.asked(_changed(given, row, token, lab, chance), wide), before)
                for token in range(given.length)
            ])
            for row in range(given.batch)
        ])
    except Refused:
        return None
    moved = sizes.permute(2, 3, 0, 1) > lab.influence(route).noise
    return _Mixed(moved.cpu().numpy(), float(sizes.max()))


def _changed(given: Given, row: int, token: int, lab: "Lab", chance: torch.Generator) -> Given:
    tokens = given.tokens.clone()
    at = (row, slice(None), token) if given.key is not None else (row, token)
    if tokens.is_floating_point():
        tokens[at] = torch.randn(tokens[at].shape, generator=chance, dtype=torch.float64).to(tokens)
    else:
        most = lab.subject.vocabulary or int(tokens.max()) + 2
        tokens[at] = (tokens[at] + 1) % most
    return given.replace(tokens=tokens)


def _fits(cells: np.ndarray, moved: np.ndarray, counted: np.ndarray) -> bool:
    """Return whether a layout would move just that; a token's own output says nothing."""
    return cells.shape == moved.shape and bool(((cells == moved) | ~counted).all())


def _told(found: _Mixed | None) -> tuple[str, tuple[int | None, int | None]]:
    if found is None:
        return "changing one row of the batch moves another", (None, None)
    batch = len(found.cells)
    other = found.cells & ~np.eye(batch, dtype=bool)[:, None, :, None]
    places = np.argwhere(other)
    if not len(places):
        return "changing one row of the batch moves another", (None, None)
    row, query, read, key = (int(one) for one in places[0])
    inside = found.cells[row, :, row] & ~np.eye(found.cells.shape[1], dtype=bool)
    alone = ", and no token of a row moves another of the same row" if not inside.any() else ""
    return f"token {key} of row {read} moves token {query} of row {row}{alone}", (query, key)


def _beside(lab: "Lab", route: Route) -> bool:
    """Whether all that the first attention reads and gives of a row stays as it is when another row changes."""
    given = lab.given(route)
    other = given.tokens.clone()
    other[1] = other[1].flip(0 if given.key is None else 1)
    try:
        calls, changed = lab.calls(route), lab.calls(route, given.replace(tokens=other))
    except Refused:
        return False
    if not calls or not changed or calls[0].query.shape[0] != given.batch:
        return False

    def still(one: Tensor, two: Tensor) -> bool:
        return one.shape == two.shape and bool(torch.equal(one[0], two[0]))

    first, second = calls[0], changed[0]
    return all(
        still(getattr(first, name), getattr(second, name)) for name in ("query", "key", "value", "out")
    )
