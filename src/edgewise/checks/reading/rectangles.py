"""A function of attention with another number of queries than of keys: which end the triangle is aligned at."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.hypotheses import explained
from edgewise.checks.meaning.expected import fitted
from edgewise.checks.reading.words import first_cell, told

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["rectangles"]


def rectangles(lab: "Lab", name: str) -> Iterator[Observation]:
    """Yield where fewer queries than keys, or more, are aligned at the wrong end."""
    expected = lab.expected()
    if lab.subject.reads != "qkv" or expected.graph is None or not bool((~expected.cells).any()):
        return
    route, given = lab.plain, lab.given(lab.plain)
    for cut in (_fewer_queries(given), _fewer_keys(given)):
        try:
            influence = lab.influence(route, 0, cut)
            finite = lab.asked(cut, route)[0].isfinite().all(-1).all(0).cpu().numpy()
        except (Refused, Skip):
            continue
        moved = influence.moved.cpu().numpy()
        query, key = moved.shape
        graph = fitted(expected.graph, key)
        if graph is None:
            continue
        wanted = graph.dense(query, key)
        wanted = wanted[0] if wanted.ndim == 3 else wanted
        judged = np.broadcast_to(finite[:, None], moved.shape)
        differs = (moved != wanted) & judged
        if not differs.any():
            continue
        found = explained(moved, graph, rows=finite)
        if found is None or found.kind != "B1":
            continue
        cell = first_cell(differs)
        measured, meant = (f"with {query} queries and {key} keys, {one}" for one in told(moved, wanted, judged))
        yield Observation(
            name,
            "B1",
            route,
            measured,
            meant,
            found.likely,
            query=cell[0],
            key=cell[1],
            warning=expected.source == "inferred",
        )
        return


def _fewer_queries(given: Given) -> Given:
    return given.slice(given.length - 3, given.length)


def _fewer_keys(given: Given) -> Given:
    """Return the input with three keys; what is said of each token is left out."""
    assert given.key is not None
    assert given.value is not None
    allowed = None if given.allowed is None else given.allowed[:, -3:]
    return given.replace(key=given.key[:, :, -3:], value=given.value[:, :, -3:], keep=None, allowed=allowed)
