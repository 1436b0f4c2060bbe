"""Replays of what can be shown with two inputs: something changes, and what must not move does, or the other way round.

Each is tried in the order in which it says most; the first that fails while the fault is there is the one to give.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import WHOLE, Subject
from edgewise.checks.calls.written import runs
from edgewise.checks.causes.ways import plainer
from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["bodies"]

_WATCHED = {
    "batch query channels": "[{row}, {query}]",
    "query batch channels": "[{query}, {row}]",
    "batch heads query width": "[{row}, :, {query}]",
    "batch query heads width": "[{row}, {query}]",
    "batch query": "[{row}, {query}]",
    WHOLE: "[{row}]",
    "heads third": "[{row}, {query}]",
    "no heads": "[{row}, {query}]",
}


def bodies(seen: Observation, lab: "Lab") -> Iterator[str]:
    """Yield Python that may show what was seen; it knows `torch` and `model`, and fails with AssertionError."""
    subject, route = lab.subject, seen.route
    given = lab.given(route)
    run = runs(subject, given, route)
    start = _start(subject, given)
    if start is None:
        return
    if run is not None:
        for change, row, query, what in _changes(seen, given, subject):
            yield f"{run}\n\n\n{start}\n{change}\n{_still(subject, row, query, what)}"
            if seen.property != "batch-leak":  # no row need move with another
                yield f"{run}\n\n\n{start}\n{change}\n{_moves(subject, row, query, what)}"
    if seen.property == "path-mismatch" and run is not None:
        for other in plainer(route):
            plain = runs(subject, lab.given(other), _like(lab.plain, other), "plain")
            if plain is not None:
                yield f"{run}\n\n{plain}\n\n\n{start}\ntorch.testing.assert_close(run(x), plain(x))"


def _like(plain: Route, other: Route) -> Route:
    return plain if other.mask == "none" and not other.cached and not other.switches else other


def _start(subject: Subject, given: Given) -> str | None:
    """The input, random; a function's is query, key and value."""
    shape, dtype = tuple(given.tokens.shape), subject.dtype
    if subject.reads == "ids":
        made = f"x = torch.randint({min(40, (subject.vocabulary or 2) // 2)}, {subject.vocabulary}, {shape})"
    elif subject.reads == "qkv":
        if given.key is None or given.value is None:
            return None
        shapes = [_laid(subject, tuple(one.shape)) for one in (given.tokens, given.key, given.value)]
        made = "x = [" + ", ".join(f"torch.randn({one}, dtype={dtype})" for one in shapes) + "]  # query, key, value"
    else:
        shape = (shape[1], shape[0], *shape[2:]) if subject.layout == "time first" else shape
        made = f"x = torch.randn({shape}, dtype={dtype})"
    device = "" if subject.device.type == "cpu" else f"\nx = x.to({str(subject.device)!r})"
    return f"torch.manual_seed(0)\n{made}{device}"


def _laid(subject: Subject, shape: tuple[int, ...]) -> tuple[int, ...]:
    batch, heads, query, width = shape
    return {"heads third": (batch, query, heads, width), "no heads": (batch, query, width)}.get(subject.layout, shape)


def _changes(seen: Observation, given: Given, subject: Subject) -> Iterator[tuple[str, int, int, str]]:
    """Lines that make `y` of `x`, the row and query that are watched, and what was changed in words."""
    if seen.property == "padding-leak" and given.keep is not None:
        for row in range(given.batch):
            pads = [place for place, real in enumerate(given.keep[row].tolist()) if not real]
            real = [place for place, one in enumerate(given.keep[row].tolist()) if one]
            queries = [seen.query] if seen.query in real else reversed(real)
            if pads:
                for query in queries:
                    yield _other(subject, row, pads), row, int(query or 0), f"padding ({pads}) of row {row}"
    elif seen.property == "batch-leak" and given.batch > 1:
        yield _other(subject, 1, None), 0, seen.query or 0, "row 1 of the batch"
        yield _other(subject, 0, None), 1, seen.query or 0, "row 0 of the batch"
    elif seen.query is not None and seen.key is not None:
        for row in range(given.batch):
            yield _other(subject, row, [seen.key]), row, seen.query, f"token {seen.key}"


def _other(subject: Subject, row: int, tokens: list[int] | None) -> str:
    at = ":" if tokens is None else str(tokens[0]) if len(tokens) == 1 else str(tokens)
    if subject.reads == "qkv":
        place = f"[{row}, {at}]" if subject.layout in ("heads third", "no heads") else f"[{row}, :, {at}]"
        return f"y = [x[0], x[1], x[2].clone()]\ny[2]{place} += 1"
    place = f"[{at}, {row}]" if subject.layout == "time first" else f"[{row}, {at}]"
    if subject.reads == "ids":
        low, most = min(40, (subject.vocabulary or 2) // 2), subject.vocabulary or 2
        return f"y = x.clone()\ny{place} = {low} + (y{place} - {low} + 1) % {most - low}"
    return f"y = x.clone()\ny{place} = torch.randn_like(y{place})"


def _moved(subject: Subject, row: int, query: int) -> str:
    axes = subject.layout if subject.layout in _WATCHED else subject.output_axes
    place = _WATCHED["batch heads query width" if subject.reads == "qkv" and axes not in _WATCHED else axes]
    return f"moved = (run(y) - run(x)){place.format(row=row, query=query)}.abs().max().item()"


def _output(subject: Subject, query: int) -> str:
    return "the answer" if subject.pooled else f"output {query}"


def _still(subject: Subject, row: int, query: int, what: str) -> str:
    said = f'"{_output(subject, query)} of row {row} moves by {{moved:.3g}} when {what} changes"'
    return f"{_moved(subject, row, query)}\nassert moved == 0, f{said}"


def _moves(subject: Subject, row: int, query: int, what: str) -> str:
    said = f'"{_output(subject, query)} of row {row} does not move when {what} changes"'
    return f"{_moved(subject, row, query)}\nassert moved > 0, {said}"
