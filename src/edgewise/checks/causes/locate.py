"""The first module at fault: by the edges that each site has, by hooks along the way, and by computing a site anew.

From inside, the first site whose edges are not the ones that were meant. From outside, the first module whose output
has the forbidden dependence while what goes into it has not. Either is confirmed where it can be: a site is computed by
the reference on the graph that was meant, and the fault must be gone.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import answer
from edgewise.checks.calls.route import Route
from edgewise.checks.causes.hooked import first_moved
from edgewise.checks.causes.mended import mended
from edgewise.checks.finding import Observation
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["located"]

_EDGES = ("future-leak", "lost-visibility", "wrong-pattern", "mask-meaning", "packing-leak")
_LEAKS = ("future-leak", "wrong-pattern", "padding-leak", "mask-meaning", "batch-leak", "packing-leak")


def located(cause: Observation, one: Property, lab: "Lab") -> Observation:
    """Return an observation with the module at fault, and the head where it is only some."""
    if cause.site or lab.subject.module is None:
        return cause
    site, head, sure = _inside(cause, lab)
    if not site and cause.property in _LEAKS:
        site = _outside(cause, lab)
    if not site:
        return cause
    told = cause.likely
    if sure and cause.property in _EDGES and mended(cause, one, lab, site):
        told = f"{told}; computed by the reference on the graph that was meant, this module is right".lstrip("; ")
    return replace(cause, site=site, head=cause.head if cause.head is not None else head, likely=told)


def _inside(cause: Observation, lab: "Lab") -> tuple[str, int | None, bool]:
    """The first site whose edges are wrong and the head; else the only site there is, of which nothing is sure."""
    calls = lab.calls(cause.route)
    for seen in calls:
        wrong = _wrong(seen, cause, lab)
        if wrong is not None and bool(wrong.any()):
            heads = wrong.flatten(2).any(2).any(0)
            some = heads.numel() > 1 and not bool(heads.all())
            return _name(seen.site, lab), int(heads.nonzero()[0]) if some else None, True
    sites = {seen.site for seen in calls}
    return (_name(sites.pop(), lab), None, False) if len(sites) == 1 else ("", None, False)


def _wrong(seen: "Seen", cause: Observation, lab: "Lab") -> Tensor | None:
    """Where a call's edges are not the ones that were meant, (batch, heads, query, key); None where nothing says."""
    if cause.property == "padding-leak":
        keep = lab.given(cause.route).keep
        if keep is None or seen.kind != "self" or seen.allowed.shape[-2:] != (keep.shape[1],) * 2:
            return None
        real, pad = keep[:, None, :, None], ~keep[:, None, None, :]
        return seen.allowed & real & pad
    if cause.property not in _EDGES or cause.route.mask in ("left", "right") or cause.route.packed:
        return None
    graph = lab.expected(seen).graph
    query, key = seen.allowed.shape[-2:]
    if graph is None or graph.batch is not None or graph.length not in (None, key):
        return None
    return seen.allowed != torch.from_numpy(graph.dense(query, key)).to(seen.allowed.device)


def _outside(cause: Observation, lab: "Lab") -> str:
    """The first module that makes the forbidden dependence, by hooks; "" where it cannot be told so."""
    module, route = lab.subject.module, cause.route
    if module is None or route.cached:
        return ""
    given = lab.given(route)
    changed, row, query = _probe(cause, given.tokens, given.keep, route)
    if changed is None:
        return ""
    torch.manual_seed(lab.seed)
    other = given.tokens.clone()
    if other.is_floating_point():
        other[changed] = torch.randn_like(other[changed])
    elif lab.subject.vocabulary:
        other[changed] = (other[changed] + 1) % lab.subject.vocabulary
    runs = [lambda one=one: answer(lab.subject, given.replace(tokens=one), route) for one in (given.tokens, other)]
    return first_moved(module, runs, row, query, given.batch, given.length)


def _probe(
    cause: Observation, tokens: Tensor, keep: Tensor | None, route: Route
) -> tuple[tuple[int | slice | Tensor, ...] | None, int, int]:
    """What to change, and the row and token that must not feel it."""
    if cause.property == "padding-leak" and keep is not None and not bool(keep.all()):
        row = int((~keep).any(1).nonzero()[0])
        pads, real = (~keep[row]).nonzero()[:, 0], keep[row].nonzero()[:, 0]
        query = cause.query if cause.query is not None and bool(keep[row, cause.query]) else int(real[-1])
        return (row, pads), row, query
    if cause.property == "batch-leak" and route.batch > 1:
        return (1,), 0, cause.query or 0
    if cause.query is None or cause.key is None or not 0 <= cause.key < tokens.shape[1]:
        return None, 0, 0
    return (0, cause.key), 0, cause.query


def _name(site: str, lab: "Lab") -> str:
    """A site as a reader finds it: the whole target has no path."""
    whole = type(lab.subject.module).__name__
    return site or whole
