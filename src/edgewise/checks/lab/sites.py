"""What attention computes on a route, seen from inside: every call that tracing captures, one row a call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from edgewise.checks.calls.arguments import Refused
from edgewise.checks.calls.given import Given
from edgewise.errors import TraceError
from edgewise.graphs import Graph, recognise
from edgewise.records import Kind
from edgewise.tracing import Captured, trace

__all__ = ["Look", "Seen", "look"]


@dataclass(frozen=True, eq=False)
class Seen:
    """One call of attention. Tensors are the model's own, detached."""

    site: str
    """The path of its module."""
    layer: int | None
    kind: Kind
    index: int
    """Which call at this site: with a cache there are several."""
    heads: int
    groups: int
    width: int
    """Numbers per head."""
    query: Tensor
    """(batch, heads, query, width)"""
    key: Tensor
    """(batch, groups, key, width)"""
    value: Tensor
    """(batch, groups, key, width of the values)"""
    out: Tensor
    """(batch, heads, query, width of the values)"""
    scale: float
    graph: Graph | None
    """The edges, where they have a name."""
    allowed: Tensor
    """bool (batch or 1, heads or 1, query, key)"""
    bias: Tensor | None
    """What is added to the scaled scores, (batch or 1, heads or 1, query or 1, key)."""
    soft_cap: float | None
    sinks: Tensor | None
    dropout: float
    hidden: float
    """The number that stands where there is no edge: −∞, or what the model adds there."""
    cached: int
    """Keys that were there before this call."""
    first: int
    """Where the first query stands."""
    route_name: str
    """How the call was seen, and the backend under it."""
    residual: float
    """Largest difference between the output and the same computed again; NaN where nobody looked."""
    problem: str = ""
    """Why query, key, value and edges do not explain the output, where they do not."""

    @property
    def cells(self) -> Tensor:
        """Bool (query, key): the edges of any sequence and head."""
        return self.allowed.flatten(0, 1).any(0)


@dataclass(frozen=True, eq=False)
class Look:
    """What was seen of a run."""

    calls: tuple[Seen, ...]
    unexplained: dict[str, str]
    """What looks like attention and was not captured: at which site, and why."""
    out: Tensor | None
    """What the run gave."""


def look(target: Any, ask: Callable[[Given], Tensor], given: Given) -> Look:
    """What attention computes while the target answers; a call that is not explained is told, and the rest looked at.

    Args:
        target: the module or function that is traced.
        ask: lets it answer.
        given: the input.
    """
    problem = ""
    try:
        with trace(target, check="all", copy=True) as run:
            out = ask(given)
    except (TraceError, Refused) as error:
        # A mistake of the target's own says so again below.
        problem = str(error).removeprefix("it raises TraceError: ")
        with trace(target, check="none", copy=True) as run:
            out = ask(given)
    calls = _continued([_of_kind(seen(one), given) for one in run.calls])
    if problem:
        calls = tuple(replace(one, problem=problem) if problem.startswith(f"{one.site}:") else one for one in calls)
    return Look(calls, dict(run.unexplained), out)


def _of_kind(one: Seen, given: Given) -> Seen:
    """A layer that is handed a memory as well may read itself: what it reads is told by its length."""
    if one.kind != "cross" or given.memory is None or given.memory.dim() < 2 or given.key is not None:
        return one
    keys, memory = one.key.shape[2], given.memory.shape[1]
    return replace(one, kind="self") if keys != memory and keys <= given.length else one


def _continued(calls: Sequence[Seen]) -> tuple[Seen, ...]:
    """Calls of which one that has the keys of the last at its site, and one more for each query, goes on with those."""
    keys: dict[str, int] = {}
    found: list[Seen] = []
    for one in calls:
        query, key = one.query.shape[2], one.key.shape[2]
        if one.kind == "cross" and one.site in keys and key == keys[one.site] + query:
            one = replace(one, kind="self", cached=key - query, first=key - query)
        if one.kind == "self" and (query == key or one.site in keys):
            keys[one.site] = key
        found.append(one)
    return tuple(found)


def seen(one: Captured) -> Seen:
    """A captured call as a row."""
    query, key = one.query.shape[2], one.key.shape[2]
    allowed = dense(one.allowed, query, key).to(one.query.device)
    graph = one.graph
    if graph is None and allowed.shape[:2] == (1, 1):
        graph = recognise(allowed[0, 0].cpu().numpy())
    return Seen(
        *(one.site.name, one.site.layer, one.site.kind, one.index, one.site.heads, one.site.groups, one.site.width),
        *(one.query, one.key, one.value, one.out, one.scale, graph, allowed, one.bias, one.soft_cap, one.sinks),
        *(one.dropout, one.hidden, one.cached, one.first, one.route, one.residual),
    )


def dense(allowed: Graph | Tensor, query: int, key: int) -> Tensor:
    """The edges as booleans (batch or 1, heads or 1, query, key)."""
    if isinstance(allowed, Tensor):
        return allowed
    cells = torch.from_numpy(allowed.dense(query, key))
    return cells[:, None] if cells.dim() == 3 else cells[None, None]
