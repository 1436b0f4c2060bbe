"""A call laid out for summing up: sequences and heads one after the other, and everything wide."""

from typing import NamedTuple

import torch
from torch import Tensor

from edgewise.graphs import Graph

__all__ = ["Problem", "firsts", "flattened", "unflattened"]


class Problem(NamedTuple):
    """A call, flattened: n counts sequences times key-value heads, and `each` query heads share one of those."""

    query: Tensor
    """(n, rows · each, width)"""
    key: Tensor
    """(n, keys, width)"""
    each: int
    groups: int
    scale: float
    soft_cap: float | None
    allowed: Tensor | None
    """(sequences or 1, groups or 1, rows or 1, each or 1, keys or 1), True = may attend; None where strips say it."""
    bias: Tensor | None
    """As `allowed`, what is added to the scores."""
    offset: int
    """Where the first row stands."""


def flattened(
    query: Tensor,
    key: Tensor,
    allowed: Tensor | None,
    scale: float,
    bias: Tensor | None,
    soft_cap: float | None,
) -> Problem:
    """Return a call with query (batch, heads, query, width) and key (batch, groups, key, width) laid out.

    `allowed` and `bias` broadcast to (batch, heads, query, key).
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    batch, heads, rows, width = query.shape
    groups, keys = key.shape[1:3]
    each = heads // groups
    turned = query.reshape(batch, groups, each, rows, width).transpose(2, 3)
    return Problem(
        turned.reshape(batch * groups, rows * each, width).to(wide),
        key.reshape(batch * groups, keys, width).to(wide).contiguous(),
        each,
        groups,
        scale,
        soft_cap,
        None if allowed is None else _spread(allowed, groups, each),
        None if bias is None else _spread(bias.to(wide), groups, each),
        keys - rows,
    )


def unflattened(tensor: Tensor, problem: Problem) -> Tensor:
    """Return a number for each flattened row as (batch, heads, query)."""
    batch, rows = tensor.shape[0] // problem.groups, tensor.shape[1] // problem.each
    apart = tensor.reshape(batch, problem.groups, rows, problem.each)
    return apart.transpose(2, 3).flatten(1, 2)


def firsts(graph: Graph | Tensor | None, batch: int, query: int, key: int) -> list[int]:
    """Return for each sequence the key that counts as the first.

    Where the text is read at once that is the first key that any query may read: what stands before is padding.
    """
    if graph is None or query != key or not key:
        return [0] * batch
    if isinstance(graph, Tensor):
        seen = graph.reshape(*(1,) * (4 - graph.dim()), *graph.shape).flatten(1, 2).any(1).expand(batch, key)
        return seen.to(torch.uint8).argmax(1).tolist()
    found = graph.ranges(query, key)
    start = found.start.min(axis=(-2, -1)) % key  # an empty run starts behind the last key
    return [int(start)] * batch if start.ndim == 0 else [int(one) for one in start]


def _spread(tensor: Tensor, groups: int, each: int) -> Tensor:
    """Return a tensor that broadcasts to the scores with five axes, heads as groups and the heads of each."""
    tensor = tensor.reshape(*(1,) * (4 - tensor.dim()), *tensor.shape)
    return tensor.unflatten(1, (groups, each) if tensor.shape[1] > 1 else (1, 1)).transpose(2, 3)
