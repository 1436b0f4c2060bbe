"""What is read of a memory by cross attention: all real tokens of it, and none of its padding."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.hypotheses import explained
from edgewise.checks.reading.words import first_cell, told
from edgewise.graphs import full, keys

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["memory_hidden", "memory_padding"]

Cells = Bool[np.ndarray, "query key"]


def memory_padding(lab: "Lab", name: str, routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield each route on which padding of the memory moves outputs of real tokens, or another mask stands in."""
    for route, whole, moved, keep, judged in _memories(lab, routes):
        extra, missing = moved & ~keep[None] & judged, ~moved & keep[None] & judged
        if not extra.any() and (whole or not _columns(missing, judged)):
            continue
        words = told(moved, np.broadcast_to(keep[None], moved.shape), judged)
        yield _observation(name, "D5", route, words, _cause(moved, keep, judged), first_cell(extra | missing))


def _cause(moved: Cells, keep: np.ndarray, judged: Cells) -> str:
    found = explained(moved, keys(keep), rows=_rows(judged), exact=False, layers=1)
    if found is not None and found.kind == "G1":
        return "the mask of the memory is complemented: True means hide where keep was meant"
    if bool((~moved & keep[None] & judged).any()):
        return "another mask than the memory's own hides its tokens, perhaps that of the tokens that read it"
    if found is not None and found.kind == "D3":
        return f"of the memory, {found.likely}"
    return "the mask of the memory is not handed to cross attention"


def _columns(missing: Cells, judged: Cells) -> bool:
    """Return whether some keys are hidden from every row."""
    rows = _rows(judged)
    return bool(rows.any() and missing[rows].all(0).any())


def memory_hidden(lab: "Lab", name: str, routes: Sequence[Route]) -> Iterator[Observation]:
    """Yield each route on which real tokens of the memory are not read, by some rows or where nothing is padded."""
    for route, whole, moved, keep, judged in _memories(lab, routes):
        missing = ~moved & keep[None] & judged
        if not missing.any() or not moved.any():
            continue
        if (moved & ~keep[None] & judged).any() or (not whole and _columns(missing, judged)):
            continue  # another mask hides it: told as padding
        found = explained(moved, full() if whole else keys(keep), rows=_rows(judged), exact=True)
        kind, likely = "B1", "tokens of the memory are hidden that should be read"
        if found is not None and found.kind == "B3":
            kind, likely = "B3", "the causal mask is applied in cross attention, where all of the memory is to be read"
        elif found is not None and found.kind == "B1":
            kind, likely = found.kind, found.likely
        elif not _columns(missing, judged) and not np.tril(missing, -1).any():
            kind, likely = "B3", "later tokens of the memory are hidden, as if it were the past of the reader"
        words = told(moved, np.broadcast_to(keep[None], moved.shape), judged)
        yield _observation(name, kind, route, words, likely, first_cell(missing))


def _memories(lab: "Lab", routes: Sequence[Route]) -> Iterator[tuple[Route, bool, Cells, np.ndarray, Cells]]:
    """Yield for each route whether its memory is whole, what is read of it, its real tokens, and which rows count."""
    if lab.subject.memory is None:
        return
    for route in routes:
        if route.training or not route.contiguous:
            continue  # no cross attention goes another way for that
        try:
            given = _padded(lab, route)
            row = given.batch - 1
            moved = lab.influence(route, row, given, of="memory").moved.cpu().numpy()
        except (Refused, Skip):
            continue
        if moved.ndim != 2:
            continue
        keep = np.ones(moved.shape[1], dtype=bool)
        if given.memory_keep is not None and not lab.declared.pads_attended:
            keep = given.memory_keep[row].cpu().numpy()
        own = None if given.keep is None else given.keep[row].cpu().numpy()
        finite = lab.answer(given, route).out[row].isfinite().all(-1).cpu().numpy()
        rows = finite if own is None or own.shape != finite.shape else finite & own
        yield route, bool(keep.all()), moved, keep, np.broadcast_to(rows[:, None], moved.shape)


def _rows(judged: Cells) -> np.ndarray:
    return np.asarray(judged.any(1))


def _padded(lab: "Lab", route: Route) -> Given:
    """Return the input of a route, its memory padded where that can be told though no padding of tokens can."""
    given = lab.given(route)
    told = lab.subject.memory_mask is not None and lab.subject.mask is None
    if not told or given.memory is None or given.memory.dim() < 2:
        return given
    return lab.once(("padded memory", route), lambda: _with_pads(given))


def _with_pads(given: Given) -> Given:
    assert given.memory is not None
    keep = torch.ones(given.memory.shape[:2], dtype=torch.bool, device=given.memory.device)
    keep[-1, -2:] = False
    return given.replace(memory_keep=keep)


def _observation(
    name: str, kind: str, route: Route, words: tuple[str, str], likely: str, cell: tuple[int, int]
) -> Observation:
    measured, expected = (f"of the memory, {one}" for one in words)
    return Observation(name, kind, route, measured, expected, likely, query=cell[0], key=cell[1])
