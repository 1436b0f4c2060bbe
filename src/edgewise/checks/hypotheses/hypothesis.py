"""What a hypothesis is: a wrong mask, predicted cell by cell, with its kind and its likely cause in words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

__all__ = ["DEEPEST", "Hypothesis", "Places", "matching", "places", "reached"]

Cells = np.ndarray
# How many layers of the same attention are tried where nobody can say how many there are.
DEEPEST = 4


class Places(NamedTuple):
    """Where the rows and columns of a measured matrix stand: arrays that broadcast to it."""

    query: Any
    """(query, 1): position of each row in the text."""
    within: Any
    """(query, 1): position of each row among the new tokens of its own call; `query` itself without a cache."""
    there: Any
    """(query, 1): how many keys there are at that call."""
    key: Any
    """(1, key): position of each column."""

    @property
    def keys(self) -> int:
        """The number of columns."""
        return self.key.shape[1]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One way for a mask to be wrong."""

    kind: str
    """The sub-kind that it would be, like "G1"."""
    likely: str
    """The cause in words."""
    sees: Callable[[Places], Any]
    """Which cells are visible, given where they stand."""

    def cells(self, at: Places) -> Bool[np.ndarray, "query key"]:
        """Return what is visible, of the keys that are there."""
        shape = (at.query.shape[0], at.keys)
        return np.broadcast_to(np.asarray(self.sees(at), dtype=bool), shape) & (at.key < at.there)


def places(query: int, key: int | None = None, new: Sequence[int] = ()) -> Places:
    """Return where rows and columns stand: aligned at the end, or fed in several calls of `new` tokens each.

    Example:
        >>> places(3, new=(2, 1)).within.ravel().tolist()
        [0, 1, 0]
    """
    key = query if key is None else key
    at = np.arange(query)[:, None] + (key - query)
    if not new:
        return Places(at, np.arange(query)[:, None], np.full((query, 1), key), np.arange(key)[None])
    starts = np.cumsum([0, *new])[:-1]
    start = np.repeat(starts, new)[:query, None]
    there = np.repeat(np.cumsum(new), new)[:query, None]
    return Places(at, at - start, there, np.arange(key)[None])


def reached(cells: Bool[np.ndarray, "query key"], layers: int = 1) -> Bool[np.ndarray, "query key"]:
    """Return what moves what through so many layers of the same attention, each with its token passed on beside it."""
    if layers == 1 or cells.shape[0] != cells.shape[1]:
        return cells
    step = cells | np.eye(len(cells), dtype=bool)
    found = step
    for _ in range(layers - 1):
        found = found @ step
    return found


def matching(
    measured: Bool[np.ndarray, "query key"],
    hypotheses: Iterable[Hypothesis],
    at: Places,
    *,
    rows: Bool[np.ndarray, " query"] | None = None,
    expected: Bool[np.ndarray, "query key"] | None = None,
    exact: bool = True,
    layers: int = 0,
) -> Hypothesis | None:
    """Return the first hypothesis that predicts just what was measured; None where none does.

    Args:
        measured: the visible cells.
        hypotheses: in order of how often they are the cause.
        at: where the cells stand.
        rows: the rows that count; None for all.
        expected: what was meant; a hypothesis that predicts the same explains nothing.
        exact: whether `measured` is the mask itself. Else it is what moves what: then a query's own token is moved
            through the query and around the attention, so the diagonal tells nothing unless it is still; rows that
            read nothing may show anything; and several layers may lie on each other.
        layers: how many, where `measured` is what moves what; 0 where nobody knows.
    """
    counted = np.ones(len(measured), dtype=bool) if rows is None else rows
    found = [(one, one.cells(at)) for one in hypotheses]
    if exact:
        return next((one for one, cells in found if _fits(cells, measured, counted, expected)), None)
    for depth in [layers] if layers else range(1, DEEPEST + 1):
        if expected is not None and _moves(expected, measured, counted & expected.any(1), at, None, depth):
            return None  # nothing is wrong, with so many layers
        for one, cells in found:
            if _moves(cells, measured, counted & cells.any(1), at, expected, depth):
                return one
    return None


def _fits(cells: Cells, measured: Cells, rows: Cells, expected: Cells | None) -> bool:
    if expected is not None and bool((cells == expected)[rows].all()):
        return False
    return bool((cells == measured)[rows].all())


def _moves(cells: Cells, measured: Cells, rows: Cells, at: Places, expected: Cells | None, layers: int) -> bool:
    """Return whether visible cells would move outputs as measured, and other than the expected ones would."""
    if not rows.any():
        return False
    own = at.query == at.key
    ways = [_passed_on, _alone] if layers == 1 else [_passed_on]
    return any(
        _fits(way(cells, own, layers), measured, rows, None if expected is None else way(expected, own, layers))
        for way in ways
    )


def _passed_on(seen: Cells, own: Cells, layers: int) -> Cells:
    """Return what moves what where each token is passed on beside attention: a row always moves with its own."""
    return reached(seen, layers) | own


def _alone(seen: Cells, own: Cells, _: int) -> Cells:
    """Return what moves what with nothing beside: a row moves with its own if visible, or if it has a choice."""
    return np.where(own, seen | (seen.sum(1, keepdims=True) > 1), seen)
