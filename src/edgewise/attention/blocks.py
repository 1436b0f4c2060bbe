"""The blocks route: attention tile by tile on a CPU, nothing computed far from an edge, nothing compiled.

A tile's scores are made, masked where needed, normalised and used while they are in the processor's cache, then
forgotten; the backward pass makes them again. Time grows with the edges and memory with the length, forward and
backward. There is no dropout here.
"""

import math
from typing import Any

import torch
from torch import Tensor

from edgewise.attention.call import Call, grouped
from edgewise.attention.kernel import backward, forward
from edgewise.attention.tiles import Tiling, tiling
from edgewise.attention.workspace import Inputs, Problem
from edgewise.errors import RunError
from edgewise.graphs import Graph, full

__all__ = ["obstacle", "run", "share"]


def obstacle(call: Call) -> str | None:
    """What stands in this route's way, if anything."""
    if call.query.device.type != "cpu":
        return f"device {call.query.device.type}"
    if isinstance(call.graph, Tensor):
        return "a graph given as a tensor"
    if call.dropout:
        return "dropout"
    if torch.compiler.is_compiling():
        return "torch.compile"
    if call.query.dim() == 3 and isinstance(call.graph, Graph) and call.graph.batch is not None and grouped(call) > 1:
        return "grouped heads in three dimensions with a graph that differs by sequence"
    return None


def run(call: Call) -> Tensor:
    """The output, tile by tile."""
    query, key, value = call.query, call.key, call.value
    if query.dtype.itemsize < 4 and (call.bias is not None or call.sinks is not None or call.soft_cap is not None):
        # What is done to the scores is done in float32, and then the products too.
        query, key, value = query.float(), key.float(), value.float()
    each, groups = grouped(call), key.shape[-3] if key.dim() > 2 else 1
    rows, columns = query.shape[-2], key.shape[-2]
    # Rows of the heads that share a key-value head stand next to each other: one product serves them all.
    heads = math.prod(key.shape[:-2])
    flat = query.reshape(heads, each, *query.shape[-2:]).transpose(1, 2).reshape(heads, rows * each, query.shape[-1])
    keys, values = key.reshape(heads, *key.shape[-2:]), value.reshape(heads, *value.shape[-2:])
    problem = Problem(
        tiling=_fitting(call.graph if isinstance(call.graph, Graph) else full(), rows, columns, heads * each),
        each=each,
        groups=groups,
        sequences=(call.graph.batch or 1) if isinstance(call.graph, Graph) else 1,
        scale=call.scale,
        soft_cap=call.soft_cap,
    )
    out = _Blocks.apply(
        problem, flat, keys, values, _bias(call, each, groups, flat.dtype), _sinks(call, each, groups, flat.dtype)
    )
    assert isinstance(out, Tensor)
    if each > 1:
        out = out.unflatten(1, (rows, each)).transpose(1, 2)
    return out.reshape(*query.shape[:-1], value.shape[-1]).to(call.value.dtype)


def share(graph: Graph, query: int, key: int) -> float:
    """The part of all cells that this route computes."""
    return tiling(graph, query, key, 128).cells / (query * key * (graph.batch or 1))


class _Blocks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, problem: Problem, *given: Any) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            out, totals = forward(problem, Inputs(*given))
        ctx.problem = problem
        ctx.save_for_backward(*given, out, totals)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if torch.is_grad_enabled():
            raise RunError("the blocks route has no second derivative; ask attend for route='matmul', which has")
        with torch.autocast("cpu", enabled=False):
            *given, out, totals = ctx.saved_tensors
            wants_bias = ctx.needs_input_grad[4]
            return None, *backward(ctx.problem, Inputs(*given), out, totals, grads[0], wants_bias=wants_bias)


def _fitting(graph: Graph, query: int, key: int, heads: int) -> Tiling:
    """Tiles of a fitting height: low ones hold fewer cells beside the edges, high ones cost less between products."""
    height = _height(heads)
    low, high = tiling(graph, query, key, height), tiling(graph, query, key, 2 * height)
    return high if high.cells <= 1.1 * low.cells else low


def _height(heads: int) -> int:
    return min(256, max(32, 1024 // max(1, heads)))


def _bias(call: Call, each: int, groups: int, dtype: torch.dtype) -> Tensor | None:
    """The bias as (sequences, groups, query, each, key), every axis as long as it must be or 1."""
    if call.bias is None:
        return None
    lead = call.query.shape[:-3]
    bias = call.bias.to(dtype).reshape(*(1,) * (len(lead) + 3 - call.bias.dim()), *call.bias.shape)
    if any(size != 1 for size in bias.shape[:-3]):
        bias = bias.expand(*lead, *bias.shape[-3:])
    bias = bias.reshape(-1, *bias.shape[-3:])
    return bias.unflatten(1, (groups, each) if bias.shape[1] > 1 else (1, 1)).transpose(2, 3)


def _sinks(call: Call, each: int, groups: int, dtype: torch.dtype) -> Tensor | None:
    return None if call.sinks is None else call.sinks.to(dtype).reshape(groups, 1, each)
