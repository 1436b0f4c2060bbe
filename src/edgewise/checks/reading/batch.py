"""Rows of a batch: whether one is computed from another, or by another's mask or positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.hypotheses import layouts
from edgewise.checks.lab.movement import apart
from edgewise.checks.lab.statistics import keeps_statistics

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["mixing", "rows_mixed"]

_ROWS = 3
"""Rows of the batch in which it is looked at who reads whom: with two, a row that reads all looks like a swap."""


@dataclass(frozen=True, eq=False)
class _Mixed:
    """What rows read of each other on a route."""

    cells: Bool[np.ndarray, "batch query batch key"]
    size: float


def rows_mixed(lab: "Lab", name: str, routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield each route on which outputs of one row move with the tokens of another."""
    moving = {route: size for route in routes if (size := mixing(lab, route))}
    causes: dict[Route, _Cause] = {}
    for route, size in moving.items():
        own = replace(route, dtype=None)
        if own not in causes:
            causes[own] = _cause(lab, own if own in moving else route, set(moving))
        cause = causes[own]
        if route.training and not cause.sure:
            continue  # statistics over the batch, in training: nobody's fault
        yield Observation(
            name,
            cause.kind,
            route,
            cause.measured,
            "no row of the batch moves another",
            cause.likely,
            query=cause.cell[0],
            key=cause.cell[1],
            size=size,
            warning=not cause.sure,
        )


@dataclass(frozen=True)
class _Cause:
    """Why rows read each other."""

    kind: str
    likely: str
    sure: bool
    measured: str
    cell: tuple[int | None, int | None]


def _cause(lab: "Lab", route: Route, moving: set[Route]) -> _Cause:
    only_cached = bool(route.cached) and replace(route, cached=()) not in moving
    found = _who_reads_whom(lab, route)
    measured, cell = _told(found)
    kind, likely, sure = ("E4" if only_cached else "E1"), "", not route.training
    if found is None or _by_statistics(lab, route, moving):
        return _Cause(kind, likely, sure, measured, cell)
    own = lab.expected(route=route).cells.cpu().numpy()[: found.cells.shape[1], : found.cells.shape[1]]
    apart_of_own = ~np.eye(len(found.cells) * own.shape[0], dtype=bool).reshape(found.cells.shape)
    fits = next((one for one in layouts(own, len(found.cells)) if _fits(one.cells, found.cells, apart_of_own)), None)
    if fits is not None:
        kind, likely, sure = ("E4" if only_cached else fits.kind), fits.likely, True
    elif only_cached:
        likely = "with a cache rows read each other and without it they do not: rows of the cache are confused"
    elif _beside(lab, route):
        likely, sure = "something beside attention mixes rows: experts with a capacity, or batch statistics", False
    return _Cause(kind, likely, sure, measured, cell)


def _by_statistics(lab: "Lab", route: Route, moving: set[Route]) -> bool:
    """Whether rows are mixed in training alone, where the target keeps statistics of whole batches."""
    return route.training and replace(route, training=False) not in moving and keeps_statistics(lab, route)


def mixing(lab: "Lab", route: Route) -> float:
    """Return how far rows move with another row's tokens on a route, beyond rounding; 0 where they are still.

    The batch stays as it is and all of the first row, or of the last, is changed: copies of a row would hide what goes
    by a row's place.
    """
    return lab.once(("mixing", route), lambda: _mixing(lab, route))


def _mixing(lab: "Lab", route: Route) -> float:
    if route.batch < 2:
        return 0.0
    most = 0.0
    # A view that mixes two rows may cut them where they end if their length is even.
    odd = () if route.cached or route.mask in ("left", "right") or route.packed else (_odd(lab),)
    for length in (None, *odd):
        try:
            most = max(most, _moved(lab, route, lab.given(route, length)))
        except (Refused, Skip):
            continue
    if most:
        lab.mixing.add(route)  # each change is then looked at in a call of its own
    return most


def _odd(lab: "Lab") -> int:
    return lab.length - 1 if lab.length % 2 == 0 else lab.length - 2


def _moved(lab: "Lab", route: Route, given: Given) -> float:
    before, most = lab.out(given, route), 0.0
    if before.shape[0] != given.batch:
        return 0.0
    for row in (0, given.batch - 1):
        after = lab.asked(_all_changed(given, row, lab), route)
        others = [one for one in range(given.batch) if one != row]
        most = max(most, lab.close(after[others], before[others], route) or 0.0)
    return most


def _all_changed(given: Given, row: int, lab: "Lab") -> Given:
    chance = torch.Generator().manual_seed(lab.seed + 11)
    changed: dict[str, Tensor] = {}
    for name in ("tokens", "key", "value"):
        held = getattr(given, name)
        if held is None:
            continue
        held = held.clone()
        if held.is_floating_point():
            held[row] = torch.randn(held[row].shape, generator=chance, dtype=torch.float64).to(held)
        else:
            real = torch.ones_like(held[row], dtype=torch.bool) if given.keep is None else given.keep[row]
            held[row] = torch.where(real, held[row].flip(0), held[row])
            held[row] = torch.where(real & (held[row] == given.tokens[row]), _next(lab, held[row]), held[row])
        changed[name] = held
    return given.replace(**changed)


def _next(lab: "Lab", ids: Tensor) -> Tensor:
    most = lab.subject.vocabulary or int(ids.max()) + 2
    return torch.where(ids + 1 < most, ids + 1, ids - 1)


def _who_reads_whom(lab: "Lab", route: Route) -> _Mixed | None:
    """Return which output of which row moves with which token of which row, each changed alone."""
    wide = replace(route, batch=_ROWS)
    given = lab.given(wide) if route.cached or route.packed else lab.given(wide, _odd(lab))
    chance = torch.Generator().manual_seed(lab.seed + 7)
    try:
        before = lab.out(given, wide)
        if before.dim() != 3 or before.shape[1] != given.length:
            return None
        sizes = torch.stack(
            [
                torch.stack(
                    [
                        apart(lab.asked(_changed(given, row, token, lab, chance), wide), before)
                        for token in range(given.length)
                    ]
                )
                for row in range(given.batch)
            ]
        )
    except Refused:
        return None
    floor = 64 * torch.finfo(before.dtype).eps * float(before.abs().nan_to_num(0, 0, 0).max())
    moved = sizes.permute(2, 3, 0, 1) > floor
    return _Mixed(moved.cpu().numpy(), float(sizes.max()))


def _changed(given: Given, row: int, token: int, lab: "Lab", chance: torch.Generator) -> Given:
    tokens = given.tokens.clone()
    at = (row, slice(None), token) if given.key is not None else (row, token)
    if tokens.is_floating_point():
        tokens[at] = torch.randn(tokens[at].shape, generator=chance, dtype=torch.float64).to(tokens)
    else:
        most = lab.subject.vocabulary or int(tokens.max()) + 2
        tokens[at] = tokens[at] + 1 if int(tokens[at]) + 1 < most else tokens[at] - 1
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
    return all(still(getattr(first, name), getattr(second, name)) for name in ("query", "key", "value", "out"))
