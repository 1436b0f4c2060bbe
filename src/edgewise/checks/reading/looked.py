"""One route looked at: each row's movements beside what was meant, and the reason where they differ."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.hypotheses import DEEPEST, headed, reached
from edgewise.checks.lab.sites import Seen
from edgewise.checks.reading.batch import mixing
from edgewise.checks.reading.chosen import chosen, chosen_in_call
from edgewise.checks.reading.faint import faint
from edgewise.checks.reading.meant import meant_of_row, real
from edgewise.checks.reading.narrower import narrower
from edgewise.checks.reading.others import others_mask
from edgewise.checks.reading.reading import Reading
from edgewise.checks.reading.traced import Mistake, comparable, given_each_other, mistakes

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

from edgewise.checks.reading.kinds import named
from edgewise.checks.reading.row import Calls, Cells, Row

__all__ = ["looked"]


def looked(lab: "Lab", route: Route, other: Given | None = None) -> Iterator[Reading]:
    """Yield what is wrong with who reads whom within a row of an input, the most padded one.

    Args:
        lab: what measures.
        route: the way.
        other: an input; None for the route's usual one.

    Raises:
        Refused: the target does not take the route.
    """
    given = lab.given(route) if other is None else other
    seen = _seen(lab, route, given, tuple(lab.calls(route, other)))
    padded = [row for row in range(given.batch) if real(given, row) is not None]
    # A padded row shows all that a whole one does, and more.
    measured = _measured(lab, route, given, padded[-1] if padded else 0, seen)
    wrong = None if measured is None else _wrong(measured)
    if wrong is not None:
        yield wrong
        return
    yield from _hidden(lab, route, seen.found, given)


def _seen(lab: "Lab", route: Route, given: Given, calls: Sequence[Seen]) -> Calls:
    explained = bool(calls) and not any(one.problem for one in calls) and not lab.unexplained(route)
    layers = len({one.site for one in calls}) if explained else int(lab.subject.kind == "function")
    whole = explained and comparable(lab, route, given, calls)
    return Calls(calls, list(mistakes(lab, route, given, calls)), layers, whole)


def _measured(lab: "Lab", route: Route, given: Given, row: int, seen: Calls) -> Row | None:
    if real(given, row) is not None and others_mask(lab, route, given) is not None:
        # What a row reads goes by its place among the others: copies of it would show something else.
        lab.mixing.add(route)
        given = given.replace()
    influence = lab.influence(route, row, given)
    moved = influence.moved.cpu().numpy()
    if moved.ndim != 2 or _mixed(lab, route, moved):
        return None
    try:
        meant = meant_of_row(lab, route, given, row, (moved.shape[0], moved.shape[1]))
    except LookupError:
        return None
    # A row that may read nothing at all may give anything: zeros, or the mean of everything.
    counted = meant.judged & meant.cells.any(1) & _numbers(lab, given, route, row)
    judged = np.broadcast_to(counted[:, None], moved.shape)
    keep = real(given, row)
    if keep is not None and lab.subject.mask is None and keep.size == moved.shape[1]:
        judged = judged & keep[None]  # padding is found by its id: another id there is no padding any more
    return Row(lab, route, given, row, influence, moved, meant, judged, seen)


def _mixed(lab: "Lab", route: Route, moved: Cells) -> bool:
    """Return whether rows of the batch read each other instead of themselves: another property's."""
    if mixing(lab, route):
        return True
    if route.batch > 1 or (moved & ~np.eye(*moved.shape, dtype=bool)).any():
        return False
    return bool(mixing(lab, replace(route, batch=2)))


def _numbers(lab: "Lab", given: Given, route: Route, row: int) -> Bool[np.ndarray, " query"]:
    """Return which outputs of a row are numbers; what is NaN moves by nothing and is another property's."""
    out = lab.out(given, route)[row]
    finite = out.isfinite().all(-1)
    return (finite.all(0) if finite.dim() == 2 else finite).cpu().numpy()


def _wrong(row: Row) -> Reading | None:
    extra, missing = row.extra, row.missing & ~faint(row)
    exact = row.meant.expected.exact or row.meant.expected.source == "declared"
    cross_only = row.lab.subject.memory is not None and not any(one.kind == "self" for one in row.seen.calls)
    # Where every mask is right no edge is hidden, whatever else holds tokens back: a first token that a running mean
    # takes away from itself moves nothing. In a single layer what another token says is held back by nothing else.
    if not exact or cross_only:
        missing = np.zeros_like(missing)
    elif row.seen.whole and not row.seen.found:
        missing = missing & ~np.eye(*missing.shape, dtype=bool) if _alone(row) else np.zeros_like(missing)
    elif row.meant.expected.source == "inferred" and missing.shape[0] == missing.shape[1]:
        # Whether a token reads itself nobody said.
        missing = missing & ~np.eye(len(missing), dtype=bool)
    if not (extra.any() or missing.any()) or _deeper(row) or _by_heads(row):
        return None
    if _by_id(row) if extra.any() else chosen(row):
        return None
    found = named(row, extra)
    if found is None:
        return None
    if real(row.given, row.row) is not None and found.kind not in ("A1", "A2", "A3", "E2", "E3"):
        other = others_mask(row.lab, row.route, row.given)
        if other is not None:
            kind, likely = given_each_other(row.lab, row.route, row.given) or other.cause
            found = replace(found, kind=kind, likely=likely)
    said = row.lab.subject.mask
    if found.kind == "G1" and said is not None and said.form == "keep" and said.name in _UNSAID:
        found = replace(found, likely=f"{found.likely}; or True hides here by design: then say mask='{said.name}:hide'")
    return found


def _alone(row: Row) -> bool:
    """Return whether who reads whom was declared of a single layer, whose attention has an effect at all."""
    others = row.moved & ~np.eye(*row.moved.shape, dtype=bool)
    return row.meant.expected.source == "declared" and row.seen.layers == 1 and bool(others.any())


_UNSAID = ("mask", "masks", "src_mask", "x_mask")
"""Names of masks that do not say what True means: real in most code, padding in some, as in DETR's."""


def _by_id(row: Row) -> bool:
    """Return whether pads are told by their id as well as by the mask, as where positions are counted over real ids.

    Then another id in their place is a real token to that count, and which other id stands there makes no difference.
    """
    subject, keep = row.lab.subject, real(row.given, row.row)
    if subject.reads != "ids" or subject.pad is None or keep is None:
        return False
    if len(keep) != row.extra.shape[1] or row.extra[:, keep].any():
        return False
    tokens = row.given.tokens.clone()
    hidden = torch.from_numpy(~keep).to(tokens.device)
    tokens[row.row, hidden] = tokens[row.row, ~hidden][0]
    moved = row.lab.influence(row.route, row.row, row.given.replace(tokens=tokens)).moved.cpu().numpy()
    return not (moved & row.extra).any()


def _deeper(row: Row) -> bool:
    """Return whether a few layers of what was meant would show just this, where nobody can say how many there are."""
    meant = row.meant.cells
    if row.seen.layers or meant.shape[0] != meant.shape[1]:
        return False
    own = np.eye(len(meant), dtype=bool)
    return any(
        bool((((reached(meant, layers) | own) == row.moved) | ~row.judged).all()) for layers in range(2, DEEPEST + 1)
    )


def _by_heads(row: Row) -> bool:
    """Return whether heads and tokens change places: another property's."""
    if real(row.given, row.row) is not None or row.route.packed:
        return False  # with padding or documents too much else would look the same
    heads = row.seen.calls[0].heads if row.seen.calls else row.lab.subject.heads or 0
    own = row.meant.cells
    if own.shape[0] != own.shape[1]:
        return False
    apart = row.judged & ~np.eye(len(own), dtype=bool)
    return any(
        bool(((one.cells[0, :, 0] == row.moved) | ~apart).all()) and bool(((one.cells[0, :, 0] != own) & apart).any())
        for one in headed(own, heads)
    )


def _hidden(lab: "Lab", route: Route, found: Sequence[Mistake], given: Given) -> Iterator[Reading]:
    """Yield what masks get wrong though it does not show in what moves what: an edge that another way goes round."""
    other = others_mask(lab, route, given)
    for one in found:
        if other is not None:
            kind, likely = (one.kind, one.likely) if one.kind in ("E2", "E3") else other.cause
            measured, expected = one.words
            yield Reading(route, kind, likely, measured, expected, one.differs, one.seen.site, one.head)
            return
        if one.meant.expected.source in ("declared", "config") and one.meant.expected.exact and not one.extra:
            if narrower(one, lab.calls(route, given)) or chosen_in_call(lab, route, given, one):
                continue
            kind, likely = one.kind or "B1", one.likely or "edges are hidden that should be there"
            measured, expected = one.words
            yield Reading(route, kind, likely, measured, expected, one.differs, one.seen.site, one.head)
            return
