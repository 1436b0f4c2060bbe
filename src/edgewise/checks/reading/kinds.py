"""The kind and the cause of what a row reads wrongly: by the masks that were seen, else by what moves what."""

from dataclasses import replace

import numpy as np

from edgewise.checks.hypotheses import Hypothesis, explained
from edgewise.checks.reading.alone import as_alone
from edgewise.checks.reading.meant import real
from edgewise.checks.reading.reading import Reading
from edgewise.checks.reading.row import Cells, Row
from edgewise.checks.reading.traced import Mistake
from edgewise.checks.reading.weak import fills_of, weak_bias, weak_fill

__all__ = ["named"]


def named(row: Row, extra: Cells) -> Reading | None:
    """Return what is wrong, by the mask that attention was handed, else by what moves what; None for nothing."""
    if extra.any():
        weak = weak_bias(row.seen.calls, extra, row.row)
        if weak is not None:
            return row.reading(*weak[:2], site=weak[2])
    mistake = _telling(row, extra)
    if extra.any():
        fills = fills_of(row.lab, row.given, row.route)
        hidden = ~row.meant.cells & row.judged
        why = weak_fill(fills, hidden, extra)
        if why is not None:
            return row.reading(*why, site=mistake.seen.site if mistake else "")
    together = _by_movement(row) if row.route.cached else None
    if together is not None and together.kind[0] in "ABC":
        # A single step shows a row of the mask; all steps together show the mask.
        return row.reading(together.kind, together.likely, site=mistake.seen.site if mistake else "")
    if mistake is not None:
        return _of_mistake(row, mistake, extra)
    if extra.any() and (row.seen.whole or _padding_hidden(row, extra)):
        beside = _beside(row, extra)
        return None if beside is None else row.reading(*beside)
    found = _by_movement(row)
    if found is not None:
        return row.reading(found.kind, found.likely)
    return row.reading(*_by_place(row, extra))


def _by_movement(row: Row) -> Hypothesis | None:
    """Return the hypothesis that fits what moves what."""
    graph = row.meant.graph
    if graph is None:
        return None
    return explained(
        row.moved,
        graph,
        new=row.route.cached,
        rows=np.asarray(row.judged.any(1)),
        exact=row.lab.subject.kind == "function",
        layers=row.seen.layers,
    )


def _telling(row: Row, extra: Cells) -> Mistake | None:
    """Return the mistake in a mask that says most: of a known kind, of the same direction, over most keys."""
    if not row.seen.found:
        return None
    return max(row.seen.found, key=lambda one: (one.extra or not extra.any(), bool(one.kind), int(one.differs.sum())))


def _of_mistake(row: Row, mistake: Mistake, extra: Cells) -> Reading:
    kind, likely = mistake.kind, mistake.likely
    if not kind:
        at = mistake.differs & mistake.got
        kind, likely = _by_place(row, at if at.shape == row.moved.shape else extra)
    found = row.reading(kind, likely, site=mistake.seen.site, head=mistake.head)
    if mistake.got.shape == row.moved.shape:
        measured, expected = mistake.words
        found = replace(found, measured=measured, expected=expected)
    return found


def _beside(row: Row, extra: Cells) -> tuple[str, str] | None:
    """Return kind and cause of what is read past attention whose masks are all right; None where that may be meant.

    A state or a convolution may carry the past beyond a window: that is what it is for. Ids of padding may be read as
    nothing.
    """
    words = (
        "every mask is right, so it is no mask: something beside attention (a mean, a norm, a convolution, a state) "
    )
    if _pads(row, extra):
        found = "D4", words + "reads padding"
        return None if as_alone(row.lab, row.route, row.given, row.row) else found
    if _other_documents(row, extra):
        return "F1", words + "reads other documents"
    if _future(extra):
        return "A3", words + "reads later tokens"
    return None


def _padding_hidden(row: Row, extra: Cells) -> bool:
    """Return whether padding is read though every call of attention over the tokens hides it.

    Calls over something else, such as sounds made from the tokens, are not compared with anything.
    """
    over = [one for one in row.seen.calls if one.query.shape[2] == one.key.shape[2] == row.given.length]
    unknown = any(one.problem for one in row.seen.calls) or bool(row.lab.unexplained(row.route))
    return bool(over) and _pads(row, extra) and not row.seen.found and not unknown


def _by_place(row: Row, extra: Cells) -> tuple[str, str]:
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


def _pads(row: Row, extra: Cells) -> bool:
    keep = real(row.given, row.row)
    return keep is not None and len(keep) == extra.shape[1] and bool(extra[:, ~keep].any())


def _other_documents(row: Row, extra: Cells) -> bool:
    documents = row.given.documents
    if documents is None or extra.shape != (documents.shape[1],) * 2:
        return False
    ids = documents[row.row].cpu().numpy()
    return bool((extra & (ids[:, None] != ids[None])).any())


def _future(extra: Cells) -> bool:
    query, key = extra.shape
    return bool(np.triu(extra, 1 + key - query).any())
