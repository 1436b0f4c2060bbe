"""Every weight of a call summed up as it passes: a few numbers for each query, and never a matrix in memory."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from edgewise.attention.call import checked
from edgewise.errors import ShapeError
from edgewise.graphs import Graph, full
from edgewise.records import Statistics
from edgewise.tracing.flattened import Problem, firsts, flattened, unflattened
from edgewise.tracing.strips import Strip, dense_strips, strips
from edgewise.tracing.sums import Sums, sums_for
from edgewise.tracing.worker import Worker

__all__ = ["statistics"]

_ROWS = 128  # of a strip, the query heads counted that share a key-value head
_CELLS = 1 << 20  # of a chunk of several heads: fewer stay nearer in the cache, and cost more operations


class _Job(NamedTuple):
    """A strip of some heads."""

    strip: Strip
    heads: slice
    first: int
    """The key that counts as the first."""


def statistics(
    query: Float[Tensor, "batch heads query width"],
    key: Float[Tensor, "batch groups key width"],
    graph: Graph | Bool[Tensor, "*graph"] | None = None,
    *,
    scale: float | None = None,
    bias: Float[Tensor, "*bias"] | None = None,
    soft_cap: float | None = None,
    sinks: Float[Tensor, "heads"] | None = None,
) -> Statistics:
    """What each query does with all its keys, in a few numbers; no gradients, no matrix, forbidden cells left out.

    Scores and sums are float32, or float64 where the queries are. Time grows with the edges of the graph, memory with
    the number of queries.

    Args:
        query: what each position looks for.
        key: what each position offers to be found by.
        graph: which edges exist, aligned at the end; None for all. A boolean tensor works too, True = may attend.
        scale: multiplies the raw scores; None for width ** -0.5.
        bias: added to the scaled scores; anything that broadcasts to them.
        soft_cap: scores are squeezed into ±soft_cap before the bias.
        sinks: one learned score a head that joins the softmax's sum and carries nothing.

    Raises:
        ShapeError: two shapes do not fit together.
        ArgumentError: a number or a dtype is not one that attention can use.

    Example:
        >>> from edgewise.graphs import causal
        >>> x = torch.zeros(1, 1, 4, 8)  # every score 0: each query shares itself out evenly
        >>> found = statistics(x, x, causal())
        >>> found.largest[0, 0]
        array([1.        , 0.5       , 0.33333334, 0.25      ], dtype=float32)
        >>> found.distance[0, 0]
        array([0. , 0.5, 1. , 1.5], dtype=float32)
    """
    if query.dim() != 4 or key.dim() != 4:
        raise ShapeError(
            "query must be (batch, heads, query, width) and key (batch, groups, key, width); "
            f"got {tuple(query.shape)} and {tuple(key.shape)}"
        )
    call = checked(query, key, key, graph, scale, bias, soft_cap, sinks, 0.0, None)
    with torch.no_grad(), torch.autocast(query.device.type, enabled=False):
        allowed = call.graph if isinstance(call.graph, Tensor) else None
        problem = flattened(query.detach(), key.detach(), allowed, call.scale, bias, soft_cap)
        sums = sums_for(problem.query)
        _sum_up(problem, sums, list(_jobs(problem, call.graph, query.shape[0])))
        return _finished(problem, sums, sinks)


def _sum_up(problem: Problem, sums: Sums, jobs: list[_Job]) -> None:
    """Do the jobs, and those again whose rows are not to be trusted.

    Each operation runs on all of torch's threads. Jobs on threads of their own wait for each other's Python between any
    two operations, which are many here: two of them take longer than one.
    """
    worker = Worker(problem)
    for job in jobs:
        worker.add(job.strip, job.heads, job.first, sums)
    again = sums.distrusted()
    if not again.any():
        return
    for job in jobs:
        rows = slice(job.strip.rows.start * problem.each, job.strip.rows.stop * problem.each)
        if again[job.heads, rows].any():
            sums.part(job.heads, rows).forget()
            worker.add(job.strip, job.heads, job.first, sums, shifted=True)


def _jobs(problem: Problem, graph: Graph | Tensor | None, batch: int) -> Iterator[_Job]:
    """Yield the strips of all heads, several heads together where that fits the cache."""
    lines, keys, groups = problem.query.shape[1], problem.key.shape[1], problem.groups
    query, rows = lines // problem.each, max(32, _ROWS // problem.each)
    if isinstance(graph, Tensor):
        planned = dense_strips(query, keys, rows)
    else:
        planned = strips(graph or full(), query, keys, rows)
    first = firsts(graph, batch, query, keys)
    alike = problem.allowed is None and problem.bias is None and len(set(first)) == 1
    size = groups * batch if alike and all(strip.batch is None for strip in planned) else groups
    for strip in planned:
        cells = (strip.rows.stop - strip.rows.start) * problem.each * strip.widest
        step = max(1, _CELLS // max(1, cells))
        for start in range(0, groups * batch, size):
            if strip.batch in (None, start // groups):
                for head in range(start, start + size, step):
                    yield _Job(strip, slice(head, min(head + step, start + size)), first[start // groups])


def _finished(problem: Problem, sums: Sums, sinks: Tensor | None) -> Statistics:
    """Make statistics of the sums."""
    nobody = sums.total == 0
    relative = sums.total.log()  # the logarithm of the softmax's sum, relative to the shift
    whole = sums.total
    if sinks is not None:
        own = sinks.detach().to(whole).reshape(problem.groups, 1, problem.each)
        sink = (own - sums.shift.unflatten(1, (-1, problem.each)).unflatten(0, (-1, problem.groups))).reshape_as(whole)
        relative, whole = torch.logaddexp(relative, sink), whole + sink.exp()
    factor = whole.reciprocal().masked_fill_(nobody, 0)
    read = (sums.total * factor).clamp_max_(1)
    entropy = torch.where(nobody, 0, read * relative - sums.dot * factor).clamp_min_(0)
    found = {
        "log_sum_exp": (relative + sums.shift).masked_fill_(nobody, -torch.inf),
        "entropy": entropy,
        "distance": torch.where(nobody, 0, sums.far / sums.total),
        "where": sums.where.masked_fill(sums.largest == 0, -1),
        **{name: getattr(sums, name) * factor for name in ("largest", "first", "own", "previous", "near")},
    }
    return Statistics(**{name: unflattened(one, problem).cpu().numpy() for name, one in found.items()})
