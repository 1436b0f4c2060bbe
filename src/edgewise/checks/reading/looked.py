"""One route looked at: each row's movements beside what was meant, and the reason where they differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from edgewise.checks.calling import Refused
from edgewise.checks.given import Given
from edgewise.checks.hypotheses import explained, headed
from edgewise.checks.influence import Influence
from edgewise.checks.reading.meant import Meant, meant_of_row, real
from edgewise.checks.reading.reading import Reading
from edgewise.checks.reading.traced import Mistake, mistakes
from edgewise.checks.reading.weak import fills_of, weak_bias, weak_fill
from edgewise.checks.reading.words import told
from edgewise.checks.route import Route
from edgewise.checks.sites import Seen

if TYPE_CHECKING:
    from edgewise.checks.lab import Lab

__all__ = ["looked"]

Cells = Bool[np.ndarray, "query key"]


@dataclass(frozen=True, eq=False)
class _Row:
    """A row of the input, measured."""

    lab: "Lab"
    route: Route
    given: Given
    row: int
    influence: Influence
    moved: Cells
    meant: Meant
    judged: Cells
    calls: Sequence[Seen]
    found: Sequence[Mistake]
    """What was seen wrong with masks, on any row."""
    whole: bool
    """Whether every call of attention was seen and is explained."""

    @property
    def extra(self) -> Cells:
        """What is read and should not be."""
        return self.moved & ~self.meant.cells & self.judged

    @property
    def missing(self) -> Cells:
        """What is not read and should be."""
        return ~self.moved & self.meant.cells & self.judged

    def reading(self, kind: str, likely: str, *, site: str = "", head: int | None = None) -> Reading:
        """Return what is wrong, in words."""
        measured, expected = told(self.moved, self.meant.cells, self.judged)
        differs = self.extra if self.extra.any() else self.missing
        size = float(self.influence.size[differs].max()) if differs.any() else float("nan")
        return Reading(
            self.route, kind, likely, measured, expected, differs, site, head, size, self.influence.noise
        )


def looked(lab: "Lab", route: Route) -> Iterator[Reading]:
    """Yield what is wrong with who reads whom within each row of a route's input; of several rows that have the same
    fault, the first.

    Raises:
        Refused: the target does not take the route.
    """
    given = lab.given(route)
    calls = tuple(lab.calls(route))
    found = list(mistakes(lab, route, given, calls))
    whole = bool(calls) and not any(one.problem for one in calls) and not lab.unexplained(route)
    seen: set[str] = set()
    padded = [row for row in range(given.batch) if real(given, row) is not None]
    for row in dict.fromkeys([*padded[-1:], 0]):
        measured = _measured(lab, route, given, row, calls, found, whole)
        if measured is None:
            continue
        for one in _wrong(measured):
            if one.kind not in seen:
                seen.add(one.kind)
                yield one
    if not seen:
        yield from _hidden(route, found, given)


def _measured(
    lab: "Lab", route: Route, given: Given, row: int, calls: Sequence[Seen], found: Sequence[Mistake], whole: bool
) -> _Row | None:
    influence = lab.influence(route, row)
    moved = influence.moved.cpu().numpy()
    if moved.ndim != 2:
        return None
    try:
        meant = meant_of_row(lab, route, given, row, (moved.shape[0], moved.shape[1]))
    except LookupError:
        return None
    judged = np.broadcast_to(meant.judged[:, None], moved.shape) & _numbers(lab, given, route, row)[:, None]
    return _Row(lab, route, given, row, influence, moved, meant, judged, calls, found, whole)


def _numbers(lab: "Lab", given: Given, route: Route, row: int) -> Bool[np.ndarray, " query"]:
    """Return which outputs of a row are numbers; what is NaN moves by nothing and is another property's."""
    out = lab.out(given, route)[row]
    finite = out.isfinite().all(-1)
    return (finite.all(0) if finite.dim() == 2 else finite).cpu().numpy()


def _wrong(row: _Row) -> Iterator[Reading]:
    extra, missing = row.extra, row.missing
    if not row.meant.expected.exact and row.meant.expected.source != "declared":
        missing = np.zeros_like(missing)
    if extra.any() or missing.any():
        if _by_heads(row):
            return
        yield _named(row, extra, missing)


def _by_heads(row: _Row) -> bool:
    """Return whether heads and tokens change places: another property's."""
    heads = row.calls[0].heads if row.calls else row.lab.subject.heads or 0
    own = row.meant.cells
    if own.shape[0] != own.shape[1]:
        return False
    apart = row.judged & ~np.eye(len(own), dtype=bool)
    return any(
        bool(((one.cells[0, :, 0] == row.moved) | ~apart).all()) and bool(((one.cells[0, :, 0] != own) & apart).any())
        for one in headed(own, heads)
    )


def _named(row: _Row, extra: Cells, missing: Cells) -> Reading:
    """Return what is wrong, by the mask that attention was handed, else by what moves what."""
    if extra.any():
        weak = weak_bias(row.calls, extra, row.row)
        if weak is not None:
            return row.reading(*weak[:2], site=weak[2])
    mistake = next((one for one in row.found if one.kind and (one.extra or not extra.any())), None)
    mistake = mistake or next((one for one in row.found if one.extra or not extra.any()), None)
    if extra.any():
        fills = fills_of(row.lab, row.given, row.route)
        hidden = ~row.meant.cells & row.judged
        why = weak_fill(fills, hidden, extra)
        if why is not None:
            return row.reading(*why, site=mistake.seen.site if mistake else "")
    if mistake is not None:
        return _of_mistake(row, mistake, extra, missing)
    if extra.any() and row.whole:
        kind, likely = _beside(row, extra)
        return row.reading(kind, likely)
    layers = len({one.site for one in row.calls}) if row.whole else 0
    graph = row.meant.graph
    found = (
        None
        if graph is None
        else explained(
            row.moved,
            graph,
            new=row.route.cached,
            rows=row.judged.any(1),
            exact=row.lab.subject.kind == "function",
            layers=layers,
        )
    )
    if found is not None:
        return row.reading(found.kind, found.likely)
    return row.reading(*_by_place(row, extra, missing))


def _of_mistake(row: _Row, mistake: Mistake, extra: Cells, missing: Cells) -> Reading:
    kind, likely = mistake.kind, mistake.likely
    if not kind:
        at = mistake.differs
        kind, likely = _by_place(row, extra, missing) if at.shape != row.moved.shape else _by_place(
            row, at & mistake.got, at & ~mistake.got
        )
    found = row.reading(kind, likely, site=mistake.seen.site, head=mistake.head)
    if row.calls[0].query.shape[2] == len(row.moved):
        measured, expected = mistake.words
        found = replace(found, measured=measured, expected=expected)
    return found


def _beside(row: _Row, extra: Cells) -> tuple[str, str]:
    """Return kind and cause of what is read past attention whose masks are all right."""
    words = "every mask is right, so it is no mask: something beside attention (a mean, a norm, a convolution, a state) "
    if _pads(row, extra):
        return "D4", words + "reads padding"
    if _other_documents(row, extra):
        return "F1", words + "reads other documents"
    if _future(extra):
        return "A3", words + "reads later tokens"
    return "C2", words + "reads what should be hidden"


def _by_place(row: _Row, extra: Cells, missing: Cells) -> tuple[str, str]:
    """Return the kind of cells that differ, by where they lie."""
    if extra.any():
        if _pads(row, extra):
            return "D1", "padding is read"
        if _other_documents(row, extra):
            return "F1", "other documents in the same row are read"
        if _future(extra):
            return "A1", "later tokens are read"
        return "C2", "tokens are read that the pattern hides"
    graph = row.meant.graph
    plain = graph is None or repr(row.meant.expected.graph) in ("causal()", "full()")
    if row.given.documents is not None and row.route.packed:
        return "F2", "tokens of one document do not all read each other"
    return ("B1", "tokens are hidden that should be read") if plain else ("C2", "the pattern hides too much")


def _pads(row: _Row, extra: Cells) -> bool:
    keep = real(row.given, row.row)
    return keep is not None and len(keep) == extra.shape[1] and bool(extra[:, ~keep].any())


def _other_documents(row: _Row, extra: Cells) -> bool:
    if row.given.documents is None or row.given.documents.shape[1] != extra.shape[1] or extra.shape[0] != extra.shape[1]:
        return False
    ids = row.given.documents[row.row].cpu().numpy()
    return bool((extra & (ids[:, None] != ids[None])).any())


def _future(extra: Cells) -> bool:
    query, key = extra.shape
    return bool(np.triu(extra, 1 + key - query).any())


def _hidden(route: Route, found: Sequence[Mistake], given: Given) -> Iterator[Reading]:
    """Yield what masks get wrong though it does not show in what moves what: an edge hidden that another way goes round."""
    for one in found:
        if one.meant.expected.source in ("declared", "config") and one.meant.expected.exact and not one.extra:
            kind, likely = one.kind or "B1", one.likely or "edges are hidden that should be there"
            measured, expected = one.words
            yield Reading(route, kind, likely, measured, expected, one.differs, one.seen.site, one.head)
            return
