"""What one row of an input was meant to read on a route: the graph, its padding and its documents together."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.hypotheses import places, seen
from edgewise.checks.lab.sites import Seen
from edgewise.checks.meaning.expected import Expected, fitted
from edgewise.graphs import Graph, documents, keys

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Meant", "meant_at", "meant_of_row", "real"]


@dataclass(frozen=True, eq=False)
class Meant:
    """What a row was meant to read."""

    expected: Expected
    graph: Graph | None
    """With padding and documents; None where the rules have no word for the expectation."""
    cells: Bool[np.ndarray, "query key"]
    judged: Bool[np.ndarray, " query"]
    """Rows that count: those of real tokens."""


def real(given: Given, row: int) -> np.ndarray | None:
    """Return which tokens of a row are real; None where all are."""
    return None if given.keep is None or bool(given.keep[row].all()) else given.keep[row].cpu().numpy()


def meant_of_row(lab: "Lab", route: Route, given: Given, row: int, shape: tuple[int, int]) -> Meant:
    """Return what a row should read after all layers."""
    expected = lab.expected(route=route)
    cells = expected.cells.cpu().numpy()
    graph = expected.graph
    if cells.shape != shape:
        graph = None if graph is None else fitted(graph, shape[1])
        if graph is None:
            raise LookupError
        cells = _dense(graph, *shape)
    graph, cells = _with_data(lab, given, row, graph, cells, 0)
    keep = real(given, row)
    judged = np.ones(shape[0], dtype=bool) if keep is None or len(keep) != shape[0] else keep
    return Meant(expected, graph, cells, judged)


def meant_at(lab: "Lab", route: Route, given: Given, row: int, one: Seen) -> Meant | None:
    """Return what a row should read in one call of attention; None where its keys do not stand as their places say."""
    query, key = one.query.shape[2], one.key.shape[2]
    if one.kind == "self" and not _stands(route, given, one):
        return None
    if one.kind == "cross" and given.memory is None and key < given.length and real(given, row) is not None:
        return None  # keys are several tokens each, pooled: which of them are padding is told nowhere
    expected = lab.expected(one, route)
    cells = expected.cells.cpu().numpy()
    graph = expected.graph
    if cells.shape != (query, key):
        graph = None if graph is None else fitted(graph, key)
        if graph is None:
            return None
        cells = _dense(graph, query, key)
    if one.kind != "self":
        return Meant(expected, graph, *_of_memory(lab, given, row, cells))
    if key != given.length and key == _tokens_of_memory(lab, given) and query == key:
        return _of_reader(lab, given, row, expected, cells)
    graph, cells = _with_data(lab, given, row, graph, cells, one.first)
    keep = real(given, row)
    judged = np.ones(query, dtype=bool)
    if keep is not None and len(keep) >= one.first + query:
        judged = keep[one.first : one.first + query]
    return Meant(expected, graph, cells, judged)


def _tokens_of_memory(lab: "Lab", given: Given) -> int | None:
    """Return how many tokens the memory has; None where it is a picture or a sound, or there is none."""
    return None if given.memory is None or lab.subject.memory_sizes else given.memory.shape[1]


def _stands(route: Route, given: Given, one: Seen) -> bool:
    """Return whether a call is over the tokens, or the memory, in one piece: its rows stand where their places say."""
    query, key = one.query.shape[2], one.key.shape[2]
    lengths = [given.length] + ([given.memory.shape[1]] if given.memory is not None else [])
    if query == key and key in lengths and not one.first:
        return True
    there = np.cumsum(route.cached).tolist()
    return one.index < len(there) and key == there[one.index] and query == route.cached[one.index]


def _of_reader(lab: "Lab", given: Given, row: int, expected: Expected, cells: Any) -> Meant:
    """Return what a row of the memory should read of itself, in whatever encodes it."""
    keep = given.memory_keep
    if keep is None or bool(keep[row].all()):
        return Meant(expected, expected.graph, cells, np.ones(len(cells), dtype=bool))
    held = keep[row].cpu().numpy()
    if lab.declared.pads_attended:
        return Meant(expected, expected.graph, cells, held)
    graph = None if expected.graph is None else expected.graph & keys(held)
    return Meant(expected, graph, cells & held[None], held)


def _of_memory(lab: "Lab", given: Given, row: int, cells: Any) -> tuple[Any, Any]:
    # Without a memory of its own it is the tokens, once encoded, that queries of a model's own read.
    keep = given.keep if given.memory is None else given.memory_keep
    if keep is not None and keep.shape[1] == cells.shape[1] and not lab.declared.pads_attended:
        cells = cells & keep[row].cpu().numpy()[None]
    own = real(given, row)
    judged = np.ones(len(cells), dtype=bool) if own is None or len(own) != len(cells) else own
    return cells, judged


def _with_data(
    lab: "Lab", given: Given, row: int, graph: Graph | None, cells: np.ndarray, first: int
) -> tuple[Graph | None, np.ndarray]:
    """Return graph and cells narrowed by the padding and the documents of a row."""
    query, key = cells.shape
    keep = real(given, row)
    if keep is not None and not lab.declared.pads_attended and len(keep) >= key:
        graph = None if graph is None else graph & keys(keep[:key])
        cells = cells & keep[None, :key]
    if given.documents is not None and given.documents.shape[1] >= key:
        ids = given.documents[row, :key].cpu().numpy()
        if bool((ids != ids[0]).any()):
            graph = None if graph is None else graph & documents(ids)
            own = ids[first : first + query] if key != query else ids
            cells = cells & (own[:, None] == ids[None])
    return graph, cells


def _dense(graph: Graph, query: int, key: int) -> np.ndarray:
    at = places(query, key)
    return np.broadcast_to(np.asarray(seen(graph, at.query, at.key), dtype=bool), (query, key))
