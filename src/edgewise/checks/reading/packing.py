"""Documents packed in a row: each should come out as it does alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.reading.beginnings import Beginnings
from edgewise.checks.reading.looked import looked
from edgewise.graphs.algebra import And, Not, Or
from edgewise.graphs.graph import Graph
from edgewise.graphs.listed import Documents

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["alone_or_packed", "only_positions", "short_documents"]


def alone_or_packed(lab: "Lab", name: str, routes: Sequence[Route], leaking: set[Route]) -> Iterator[Observation]:
    """Yield each route on which a later document comes out otherwise than alone, though it reads no other.

    Args:
        lab: what measures.
        name: the property's.
        routes: those to look at.
        leaking: those on which documents are known to read each other.
    """
    for route in routes:
        if route in leaking or route.cached:
            continue
        try:
            apart = _apart(lab, route)
        except Refused:
            continue
        if not apart or apart[0][1] is not None:
            continue
        wrong = [(start, size) for start, size in apart if size is not None]
        if wrong:
            start, size = wrong[0]
            yield Observation(
                name,
                "F3",
                route,
                f"the document that begins at token {start} comes out otherwise than alone, by {size:.2g}",
                "a document comes out packed as it does alone",
                "positions do not start again with each document: they are counted from the row's first token",
                query=start,
                size=size,
            )


def short_documents(lab: "Lab", name: str, routes: Sequence[Route], leaking: set[Route]) -> Iterator[Observation]:
    """Yield each route on which documents of one token are not told apart, where longer ones are."""
    for route in routes:
        given = lab.given(route)
        if route in leaking or given.documents is None or given.length < 6:
            continue
        lengths = torch.tensor([2, 1, 1, given.length - 4])
        starts = lengths.cumsum(0) - lengths
        ids = torch.repeat_interleave(torch.arange(4), lengths).to(given.documents.device)
        places = torch.arange(given.length) - torch.repeat_interleave(starts, lengths)
        positions = None if given.positions is None else places.to(given.positions).expand_as(given.positions)
        short = given.replace(documents=ids.expand_as(given.documents).contiguous(), positions=positions)
        try:
            found = next(looked(lab, route, short), None)
        except Refused:
            continue
        if found is not None:
            yield replace(found, kind="F2" if found.kind[0] != "F" else found.kind).observation(name)


def only_positions(lab: "Lab", route: Route) -> bool:
    """Whether what a target is told of documents may be meant as positions alone.

    They change what comes out and hide nothing, its code does not look for where they begin again, nothing else says
    that rows are packed, and nobody declared documents.
    """
    if lab.subject.documents is not None or _declares_documents(lab.declared.graph):
        return False
    given, said = lab.given(route), lab.subject.positions
    if given.positions is None or (said is not None and "cache" in said.name):
        return True  # where in its cache new tokens go is told by such a name, and no more
    beginnings = Beginnings(given.positions)
    try:
        with beginnings:
            lab.asked(given, route)
        if beginnings.looked:
            return False
        if _told_apart(lab, route, given):
            return False
    except (Refused, Skip):
        return True
    return any(_moves(lab, given, way) for way in dict.fromkeys((route, replace(route, dtype="float64"))))


def _moves(lab: "Lab", given: Given, route: Route) -> bool:
    """Whether positions that begin again change what comes out; half precision may be too coarse to show it."""
    assert given.positions is not None
    try:
        on, restarted = (lab.asked(one, route) for one in (given.replace(positions=_counted(given.positions)), given))
    except (Refused, Skip):
        return route.dtype is None
    return lab.close(on, restarted, route) is not None


def _told_apart(lab: "Lab", route: Route, given: Given) -> bool:
    """Whether the last document does not read the first, or where it could not anyway, none before it."""
    assert given.documents is not None
    documents = given.documents[0]
    before = [documents == documents[0], documents != documents[-1]]
    unpacked = lab.influence(replace(route, packed=False)).moved[-1].to(documents.device)
    read = next((one for one in before if bool(unpacked[one].any())), before[0])
    return not bool(lab.influence(route).moved[-1].to(documents.device)[read].any())


def _apart(lab: "Lab", route: Route) -> list[tuple[int, float | None]]:
    """Return for each document of the first row where it begins and how far it is from what it is alone."""
    given = lab.given(route)
    if given.documents is None:
        return []
    packed, found = lab.out(given, route)[:1], list[tuple[int, float | None]]()
    single = replace(route, batch=1)
    for start, stop in _pieces(given.documents[0]):
        piece = given.row(0).slice(start, stop)
        if piece.documents is not None:
            piece = piece.replace(documents=torch.zeros_like(piece.documents))
        alone = lab.asked(_whole(piece, given, start, stop), single)
        part = packed[..., start:stop, :]
        found.append((start, lab.close(part, alone, route)))
    return found


def _whole(piece: Given, given: Given, start: int, stop: int) -> Given:
    """Return one document, of a function with its own keys."""
    if given.key is None or given.value is None:
        return piece
    return piece.replace(key=given.key[:1, :, start:stop], value=given.value[:1, :, start:stop], allowed=None)


def _pieces(documents: Tensor) -> Iterator[tuple[int, int]]:
    starts = [0, *(torch.nonzero(documents[1:] != documents[:-1])[:, 0] + 1).tolist()]
    yield from zip(starts, [*starts[1:], len(documents)], strict=True)


def _counted(positions: Tensor) -> Tensor:
    return torch.arange(positions.shape[-1], device=positions.device).expand_as(positions)


def _declares_documents(graph: Graph | None) -> bool:
    match graph:
        case Documents():
            return True
        case And() | Or():
            return any(map(_declares_documents, graph.operands))
        case Not():
            return _declares_documents(graph.operand)
        case _:
            return False
