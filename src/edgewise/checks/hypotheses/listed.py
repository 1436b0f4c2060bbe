"""What goes wrong with masks that come from data: documents in one row, and kept keys (padding)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edgewise.checks.hypotheses.hypothesis import Hypothesis, Places
from edgewise.graphs.listed import Documents, Keys

__all__ = ["documents_wrong", "keys_wrong"]


def documents_wrong(graph: Documents) -> Iterator[Hypothesis]:
    """Yield documents that are not cut where `graph` cuts them; for one sequence."""
    ids = graph.values.reshape(-1, graph.values.shape[-1])[0]
    yield Hypothesis(
        "F1",
        "no block-diagonal mask: documents in one row read each other",
        lambda at: at.key < at.there,
    )
    late, early = np.r_[ids[:1], ids[:-1]], np.r_[ids[1:], ids[-1:]]
    yield Hypothesis(
        "F2",
        "boundaries are found one token late: the first token of a document counts to the one before",
        _alike(late, late),
    )
    apart = late + 1
    apart[0] = 0
    yield Hypothesis(
        "F2",
        "boundaries are found one token late, and the row's first token stands alone",
        _alike(apart, apart),
    )
    yield Hypothesis(
        "F2",
        "boundaries are found one token early: the last token of a document counts to the one after",
        _alike(early, early),
    )
    cuts = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    for cut in cuts.tolist():
        merged = _ids(len(ids), [one for one in cuts.tolist() if one != cut])
        which = "first" if cut == cuts[0] else "last" if cut == cuts[-1] else "a"
        yield Hypothesis(
            "F2",
            f"{which} boundary is not found: the document that begins at token {cut} is joined to the one before",
            _alike(merged, merged),
        )
    yield from _one_boundary(len(ids), cuts.tolist())
    yield Hypothesis(
        "F1",
        "documents read those before them: ids are compared by ≤ instead of =",
        lambda at: _at(ids, at.key) <= _at(ids, at.query),
    )
    sides = (("queries", late, ids), ("keys", ids, late), ("queries", early, ids), ("keys", ids, early))
    for side, one, other in sides:
        yield Hypothesis("F2", f"boundaries are one token off on the side of the {side} alone", _alike(one, other))
    yield Hypothesis(
        "F2",
        "each token of a document reads the first document alone",
        lambda at: _at(ids, at.key) == ids[0],
    )


def _one_boundary(length: int, cuts: list[int]) -> Iterator[Hypothesis]:
    if len(cuts) > 1:
        for cut in (cuts[0], cuts[-1]):
            only = _ids(length, [cut])
            yield Hypothesis(
                "F2",
                f"only one boundary is found, at token {cut}: the others are not",
                _alike(only, only),
            )
    for place, cut in enumerate(cuts):
        for step in (1, -1):
            moved = sorted({*cuts[:place], cut + step, *cuts[place + 1 :]})
            other = _ids(length, moved)
            yield Hypothesis(
                "F2",
                f"the boundary at token {cut} is found at {cut + step}",
                _alike(other, other),
            )


def keys_wrong(graph: Keys) -> Iterator[Hypothesis]:
    """Yield kept keys that are not those of `graph`; for one sequence."""
    keep = graph.values.reshape(-1, graph.values.shape[-1])[0]
    yield Hypothesis("D1", "the padding mask is not applied", lambda at: at.key < at.there)
    yield Hypothesis(
        "G1",
        "the padding mask is complemented: pads are read and tokens hidden; True means hide where keep was meant",
        lambda at: ~_at(keep, at.key),
    )
    yield Hypothesis(
        "D2",
        "the padding mask lies on the wrong axis: it hides padded queries instead of padded keys",
        lambda at: _at(keep, at.query) & (at.key < at.there),
    )
    yield Hypothesis(
        "D2",
        "the padding mask hides a cell only where query and key are both padding",
        lambda at: _at(keep, at.key) | _at(keep, at.query),
    )
    yield Hypothesis(
        "D3",
        "padding is hidden on the wrong side: as many tokens are hidden at the other end",
        lambda at: _at(keep[::-1], at.key),
    )
    for step, word in ((1, "many"), (-1, "few")):
        other = _stretched(keep, step)
        yield Hypothesis(
            "D3",
            f"the lengths are off by one: one key too {word} is visible in a padded row",
            lambda at, other=other: _at(other, at.key),
        )


def _stretched(keep: np.ndarray, step: int) -> np.ndarray:
    """Return `keep` with one key more or less at the border of padding."""
    back, front = np.r_[False, keep[:-1]], np.r_[keep[1:], False]
    if step > 0:
        return keep | (back if keep[0] else front)
    return keep & (np.r_[keep[1:], True] if keep[0] and not keep[-1] else np.r_[True, keep[:-1]] | (keep.all()))


def _ids(length: int, cuts: list[int]) -> np.ndarray:
    return (np.arange(length)[:, None] >= np.array(cuts, dtype=int)[None]).sum(1)


def _at(values: np.ndarray, places: Any) -> Any:
    return values[np.clip(places, 0, len(values) - 1)]


def _alike(query: np.ndarray, key: np.ndarray) -> Callable[[Places], Any]:
    def sees(at: Places) -> Any:
        return _at(query, at.query) == _at(key, at.key)

    return sees
