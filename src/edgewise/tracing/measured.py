"""The statistics of a call that a model makes."""

from dataclasses import replace

import numpy as np

from edgewise.graphs import Graph
from edgewise.records import Kept, Statistics
from edgewise.tracing.call import Attention
from edgewise.tracing.choice import Choice
from edgewise.tracing.statistics import statistics

__all__ = ["measured"]


def measured(attention: Attention, kept: Kept, choice: Choice) -> Statistics:
    """What each query of a call does with its keys, for the kept heads and rows.

    A query of cross attention has no place among the keys: what is told by distance from it is NaN there. A query
    without any key has none here, whatever number the model adds to hide keys.
    """
    edges, site = attention.edges, attention.site
    query, key, sinks = attention.query, attention.key, attention.sinks
    allowed, bias = edges.allowed, edges.bias
    if kept.heads is not None:
        heads = Kept(kept.heads)
        each = site.heads // site.groups
        query, key = query[:, list(kept.heads)], key[:, [head // each for head in kept.heads]]
        sinks = None if sinks is None else sinks[list(kept.heads)]
        whole = replace(choice, dtype=None)
        allowed = allowed if isinstance(allowed, Graph) else whole.part(allowed, heads, site, "queries")
        bias = None if bias is None else whole.part(bias, heads, site, "queries")
    found = statistics(query, key, allowed, scale=attention.scale, bias=bias, soft_cap=attention.soft_cap, sinks=sinks)
    if kept.rows is not None:
        found = found.part(rows=list(kept.rows))
    if site.kind == "cross":
        nowhere = np.full_like(found.own, np.nan)
        found = replace(found, own=nowhere, previous=nowhere, near=nowhere, distance=nowhere)
    return found
