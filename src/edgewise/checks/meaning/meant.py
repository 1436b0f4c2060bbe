"""What is expected of a target on a route, put together: declared, handed over, said by the config, else inferred."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Skip
from edgewise.checks.lab.sites import Seen
from edgewise.checks.meaning.expected import Expected, Source, composed, declared_graph, expectation
from edgewise.checks.meaning.inferred import NOTHING, PAST, inferred
from edgewise.checks.meaning.intended import chooses, intended, mixes_otherwise
from edgewise.checks.meaning.unnamed import unnamed
from edgewise.graphs import Graph, causal, full, recognise, window

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["expected_of"]


def expected_of(lab: "Lab", seen: Seen | None, route: Route) -> Expected:
    """Who should read whom in one call, or in the whole model; see `Lab.expected`."""
    expected = _told_in_the_call(lab, route, _whole(lab) if seen is None else _of_call(lab, seen))
    if (
        expected.source != "declared"
        and lab.subject.library == "transformers"
        and chooses(lab.subject.config, lab.length)
    ):
        return replace(expected, exact=False)  # an upper bound: which of these it reads is chosen
    if expected.source == "config" and seen is not None and _shared(seen):
        return replace(expected, exact=False)
    return expected


def _shared(seen: Seen) -> bool:
    """Whether each key points where its token's query does, as where one projection makes both (Reformer).

    A token would then read itself above all others, so that its own key is hidden, or hidden nearly, by design.
    """
    if seen.query.shape != seen.key.shape:
        return False
    return bool((torch.cosine_similarity(seen.query.float(), seen.key.float(), dim=-1) > 0.999).all())


def _of_call(lab: "Lab", seen: Seen) -> Expected:
    query, key = seen.query.shape[2], seen.key.shape[2]
    graph = declared_graph(lab.declared)
    if seen.kind == "cross" and lab.subject.library == "transformers" and lab.subject.memory is None:
        # Parts of its own that read each other, as patches read their bytes: who reads whom there nobody says.
        cells = _on_the_plain_route(lab, seen).cells
        if cells.shape == (query, key):
            return Expected(recognise(cells.cpu().numpy()), cells, "inferred", "as measured", exact=False)
    if seen.kind == "cross":
        return _joint(lab, query, key) or expectation(full(), query, key, "config", _ALL_OF_IT)
    if graph is not None:
        return expectation(graph, query, key, "declared", "as declared")
    intent = intended(lab.subject, seen.site, seen.kind, seen.layer)
    if intent is not None and intent.graph is not None and intent.sure:
        return expectation(intent.graph, query, key, "config", intent.says)
    if intent is None or not intent.causal:
        return _inferred_call(lab, seen, False, "", may_be_causal=intent is None and _of_tokens(lab, seen))
    if intent.graph is not None and intent.causal and intent.graph != causal():
        # A window that a model has and does not use is no fault by itself; one that it uses has that many keys.
        cells = _on_the_plain_route(lab, seen).cells.cpu().numpy()
        if not (cells == causal().dense(*cells.shape)).all():
            return expectation(intent.graph, query, key, "config", intent.says)
    return _inferred_call(lab, seen, True, intent.says, may_be_causal=True)


_ALL_OF_IT = "cross attention reads all of its memory"


def _joint(lab: "Lab", query: int, key: int) -> Expected | None:
    """Of a call whose keys are the tokens so far and after them those of the memory; None where they are not."""
    memory = lab.given(lab.plain).memory
    if memory is None or lab.subject.memory_sizes or memory.dim() < 2:
        return None
    so_far = key - memory.shape[1]
    if so_far < query or not _is_causal(lab):
        return None
    cells = torch.ones(query, key, dtype=torch.bool)
    cells[:, :so_far] = torch.from_numpy(causal().dense(query, so_far))
    return Expected(None, cells, "config", f"the past, and in the same attention: {_ALL_OF_IT}", exact=False)


def _inferred_call(lab: "Lab", seen: Seen, causal_hint: bool, says: str, *, may_be_causal: bool) -> Expected:
    """Of one call: as it is on the plain route, unless another route or the whole model says more."""
    query, key = seen.query.shape[2], seen.key.shape[2]
    graph, why = inferred(_on_the_plain_route(lab, seen).cells.cpu().numpy(), _cells_elsewhere(lab, seen.site))
    if graph == full() and (causal_hint or (may_be_causal and _is_causal(lab))):
        graph, why = causal(), says or "the whole model reads no future elsewhere"
    elif why in (NOTHING, PAST):
        # Padding hides more on other routes: what the plain one shows is the pattern.
        plain = _on_the_plain_route(lab, seen)
        found = None
        if plain.allowed.shape[2:] == seen.allowed.shape[2:]:
            found = _without_a_name(lab, list(plain.allowed.any(1).cpu().numpy()))
        if found is not None and not (causal_hint and not found.causal):
            return found
    exact = tuple(seen.allowed.shape[:2]) == (1, 1) and not _unnamed(lab, why)
    return expectation(graph, query, key, "inferred", why, exact=exact)


def _is_causal(lab: "Lab") -> bool:
    """Whether the whole is meant to be causal, told without its parts."""
    intent = intended(lab.subject)
    if intent is not None and intent.sure:
        return intent.causal
    hint, says = (intent.causal, intent.says) if intent else (False, "")
    return lab.once("inferred whole", lambda: _inferred_whole(lab, hint, says)).causal


def _on_the_plain_route(lab: "Lab", seen: Seen) -> Seen:
    """The first call at the same site there."""
    return next((one for one in _plain_calls(lab) if one.site == seen.site), seen)


def _whole(lab: "Lab") -> Expected:
    length = lab.length
    if lab.subject.pooled:
        return _as_measured(lab)
    graph = declared_graph(lab.declared)
    calls = [one for one in _plain_calls(lab) if one.kind == "self" and _of_tokens(lab, one)]
    if graph is not None:
        return _over_layers(lab, [graph] * max(1, len(calls)), "declared", "as declared")
    intent = intended(lab.subject)
    sure = intent is not None and intent.sure
    if calls and sure:
        expected = [_of_call(lab, one) for one in calls]
        if all(one.graph is not None for one in expected):
            says = expected[0].says if len({repr(one.graph) for one in expected}) == 1 else "layer by layer"
            source = "config" if all(one.source == "config" for one in expected) else "inferred"
            return _over_layers(lab, [one.graph for one in expected if one.graph is not None], source, says)
    if intent is not None and intent.graph is not None and sure:
        return expectation(intent.graph, length, length, "config", intent.says, exact=not _partial(lab))
    return _inferred_whole(lab, intent.causal if intent else False, intent.says if intent else "")


def _as_measured(lab: "Lab") -> Expected:
    """Of one answer for all tokens, from which nobody sees who read whom before: what it reads on the plain route."""
    cells = _cells_of(lab, lab.plain)
    graph = None if cells is None else recognise(cells)
    if cells is None or graph is not None:
        return expectation(graph or full(), lab.length, lab.length, "inferred", "one answer for the whole sequence")
    return Expected(None, torch.from_numpy(cells), "inferred", "one answer for the whole sequence")


def _over_layers(lab: "Lab", graphs: list[Graph], source: Source, says: str) -> Expected:
    length = lab.length
    many = len(graphs)
    one = expectation(graphs[0], length, length, source, says, exact=not _partial(lab))
    if many == 1:
        return one
    named, cells = composed([_flat(graph.dense(length, length)) for graph in graphs])
    if len({repr(graph) for graph in graphs}) == 1:
        says = f"{says}: {graphs[0]!r} in each of {many} layers" if named != graphs[0] else says
        named = graphs[0] if (cells == one.cells.numpy()).all() else named
    return replace(one, graph=named, cells=torch.from_numpy(cells), says=says)


def _inferred_whole(lab: "Lab", causal_hint: bool, says: str) -> Expected:
    length = lab.length
    cells = _cells_of(lab, lab.plain)
    if cells is None:
        calls = [one for one in _plain_calls(lab) if one.kind == "self"]
        if not calls:
            return expectation(full(), length, length, "inferred", "nothing could be measured", exact=False)
        cells = calls[0].cells.cpu().numpy()
    within = [one.cells.cpu().numpy() for one in _plain_calls(lab) if one.kind == "self" and _of_tokens(lab, one)]
    if within and all(not np.triu(one, 1).any() for one in within) and np.triu(cells, 1).any():
        named, seen = composed(within)
        found = expectation(causal(), length, length, "inferred", "every attention in it is causal")
        return replace(found, graph=named, cells=torch.from_numpy(seen)) if named is not None else found
    others = [one for one in _elsewhere(lab) if one is not None]
    if lab.plain in lab.mixing and not any((one == causal().dense(*one.shape)).all() for one in others):
        return expectation(full(), length, length, "inferred", "rows of a batch read each other, so nothing tells more")
    graph, why = inferred(cells, others)
    if why == NOTHING and not causal_hint and _by_memory_alone(lab):
        return expectation(window(1), length, length, "inferred", "all that its tokens read is the memory")
    if graph == full() and not causal_hint and _fills_later_tokens(lab):
        causal_hint, says = True, "its code puts a number at every later token"
    if graph == full() and causal_hint:
        graph, why = causal(), says
    elif why in (NOTHING, PAST):
        found = _without_a_name(lab, [cells, *_of_other_inputs(lab)])
        if found is not None:
            return found
    # What reads no tokens may have more places than those: a graph that names them is of that length.
    places = graph.length or length
    return expectation(graph, places, places, "inferred", why, exact=not _unnamed(lab, why))


def _fills_later_tokens(lab: "Lab") -> bool:
    """Whether code of no library fills just the cells above the diagonal, whatever it fills them with."""
    from edgewise.checks.reading.weak import fills_of

    if lab.subject.library or lab.subject.reads in ("pixels", "features"):
        return False
    found = fills_of(lab, lab.given(lab.plain), lab.plain).found
    later = ~causal().dense(lab.length, lab.length)
    return any(one.cells.shape == later.shape and bool((one.cells == later).all()) for one in found)


def _without_a_name(lab: "Lab", rows: list[np.ndarray]) -> Expected | None:
    """What edges without a name were meant to be where nobody, and no config of the library, says."""
    alone = not (np.logical_or.reduce(rows) & ~np.eye(*rows[0].shape, dtype=bool)).any()
    if alone or lab.subject.library == "transformers" or lab.plain in lab.mixing:
        return None
    return unnamed(rows, lab.subject.heads or 0)


def _of_other_inputs(lab: "Lab") -> list[np.ndarray]:
    """The edges of the plain route in another row, and in two more inputs."""
    try:
        given = [lab.given(lab.plain, seed=seed) for seed in (1, 2)]
        found = [lab.influence(lab.plain, min(1, lab.plain.batch - 1))]
        return [one.moved.numpy() for one in [*found, *(lab.influence(lab.plain, 0, one) for one in given)]]
    except (Refused, Skip):
        return []


def _unnamed(lab: "Lab", why: str) -> bool:
    """Whether a model of the library has edges without a name: it chooses them by what it reads, for all we know."""
    return lab.subject.library == "transformers" and why == NOTHING


def _told_in_the_call(lab: "Lab", route: Route, expected: Expected) -> Expected:
    """What a route's own arguments say: a flag, or a square mask."""
    flag, switches = lab.subject.causal_flag, dict(route.switches)
    query, key = expected.cells.shape
    if flag is not None and switches.get(flag.name) is True:
        return expectation(causal(), query, key, "given", f"{flag.name}=True")
    allowed = lab.given(route).allowed
    if allowed is None or allowed.shape != (query, key):
        return expected
    cells = expected.cells & allowed if lab.declared.graph is not None else allowed
    return Expected(recognise(cells.numpy()), cells, "given", "the mask that it is handed", expected.exact)


def _elsewhere(lab: "Lab") -> list[np.ndarray | None]:
    """The edges of other routes that may be right where the plain one is wrong; only the fully real rows of masks."""
    routes = [one for one in lab.routes if one.dtype is None and not one.packed and one.mask in ("none", "ones")]
    told = _told(lab)
    if told:
        # Where every token comes by itself there is no later one to read; that a target keeps what it has read says
        # that it is causal, unless that is the caller's to say.
        routes = [one for one in routes if set(one.cached) != {1}]
    if lab.subject.library == "transformers":
        # Single tokens have nobody after them to read, and some of these models read both ways and keep a memory.
        routes = [one for one in routes if not one.cached]
    routes = [one for one in routes if not told & set(dict(one.switches)) and one.batch > 1]
    return [_cells_of(lab, one) for one in routes if one != lab.plain]


def _told(lab: "Lab") -> set[str]:
    """Arguments that say who may read whom."""
    return {one.name for one in (lab.subject.causal_flag, lab.subject.square_mask) if one is not None}


def _cells_of(lab: "Lab", route: Route) -> np.ndarray | None:
    try:
        found = lab.influence(route).moved
    except (Refused, Skip):
        return None
    return found.numpy()


def _plain_calls(lab: "Lab") -> tuple[Seen, ...]:
    try:
        return lab.calls(lab.plain)
    except Refused:
        return ()


def _cells_elsewhere(lab: "Lab", site: str) -> list[np.ndarray]:
    """The edges of one site on other routes, over the whole sequence."""
    found: list[np.ndarray] = []
    told = _told(lab)
    for route in lab.where(mask=lab.plain.mask, dtype=None, cached=(), packed=False, batch=lab.plain.batch):
        if route != lab.plain and not told & set(dict(route.switches)):
            found += [one.cells.cpu().numpy() for one in lab.calls(route) if one.site == site]
    return found


def _by_memory_alone(lab: "Lab") -> bool:
    """Whether every attention is over what is handed over besides, so that no token reads another."""
    calls = _plain_calls(lab)
    return lab.subject.memory is not None and bool(calls) and all(one.kind == "cross" for one in calls)


def _of_tokens(lab: "Lab", one: Seen) -> bool:
    """Whether a call is over the tokens that the target reads, and no encoder's or a part's."""
    return one.query.shape[2] == one.key.shape[2] == lab.length


def _partial(lab: "Lab") -> bool:
    """Whether something besides attention seen by tracing may carry what tokens say, or hold some of it back."""
    try:
        seen = lab.look(lab.plain)
    except Refused:
        return True
    return bool(seen.unexplained) or not seen.calls or mixes_otherwise(lab.subject.config)


def _flat(cells: np.ndarray) -> np.ndarray:
    return cells[0] if cells.ndim == 3 else cells
