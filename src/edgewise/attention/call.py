"""One call of attention, checked at the door: whatever is wrong with the arguments is said here, and trusted inside.

`reference` and `attend` accept the same things and mean the same by them because both make a `Call` first.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import Graph

__all__ = ["Call", "checked", "grouped", "wants_gradients"]


class Call(NamedTuple):
    """What one call of attention is given, defaults filled in.

    `graph` is None where every query may read every key.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    graph: Graph | Tensor | None
    scale: float
    bias: Tensor | None
    soft_cap: float | None
    sinks: Tensor | None
    dropout: float
    generator: torch.Generator | None


def checked(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    graph: Graph | Tensor | None,
    scale: float | None,
    bias: Tensor | None,
    soft_cap: float | None,
    sinks: Tensor | None,
    dropout: float,
    generator: torch.Generator | None,
) -> Call:
    """The call, or the first thing that is wrong with it.

    Raises:
        ShapeError: two shapes do not fit together.
        ArgumentError: a number, a dtype or a kind is not one that attention can use.
    """
    _check_tensors(query, key, value)
    if graph is not None:
        _check_graph(graph, query, key)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    if not math.isfinite(factor):
        raise ArgumentError(f"scale must be a finite number, like width ** -0.5; got {factor}")
    if soft_cap is not None and not (soft_cap > 0 and math.isfinite(soft_cap)):
        raise ArgumentError(f"soft_cap must be a positive number, the largest size a score may reach; got {soft_cap}")
    if not 0 <= dropout < 1:
        raise ArgumentError(f"dropout must be at least 0 and below 1, the share of weights to drop; got {dropout}")
    if bias is not None:
        _check_bias(bias, query, key)
    if sinks is not None:
        _check_sinks(sinks, query)
    return Call(query, key, value, graph, factor, bias, soft_cap, sinks, dropout, generator)


def grouped(call: Call) -> int:
    """How many query heads read one key-value head."""
    return call.query.shape[-3] // call.key.shape[-3] if call.query.dim() > 2 else 1


def wants_gradients(call: Call) -> bool:
    """Whether a backward pass may follow."""
    tensors = (call.query, call.key, call.value, call.bias, call.sinks)
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _check_tensors(query: Tensor, key: Tensor, value: Tensor) -> None:
    q, k, v = query.shape, key.shape, value.shape
    if len(q) < 2 or len(k) != len(q) or len(v) != len(q):
        raise ShapeError(
            "query, key and value must have the same number of dimensions, at least (query, width); "
            f"got {_show(q)}, {_show(k)} and {_show(v)}"
        )
    if k[-1] != q[-1]:
        turned = k[-2] == q[-1]
        wanted = f"(…, key={k[-1] if turned else k[-2]}, width={q[-1]})"
        hint = " — transposed?" if turned else ""
        raise ShapeError(f"key must be {wanted} like query {_show(q)}; got {_show(k)}{hint}")
    if v[:-1] != k[:-1]:
        hint = " — transposed?" if v[-1] == k[-2] and v[:-2] == k[:-2] else ""
        raise ShapeError(f"value must be {_show(k[:-1], 'width')}, one row for each key; got {_show(v)}{hint}")
    if len(q) > 2:
        if q[:-3] != k[:-3]:
            raise ShapeError(
                f"key must have the leading axes of query, {_show(q[:-3])}; got {_show(k)} for query {_show(q)}"
            )
        if k[-3] == 0 or q[-3] % k[-3]:
            raise ShapeError(
                f"query heads must be a multiple of key-value heads; got query {_show(q)} with {q[-3]} heads "
                f"and key {_show(k)} with {k[-3]}"
            )
    if not query.dtype == key.dtype == value.dtype:
        raise ArgumentError(
            f"query, key and value must have one dtype; got {query.dtype}, {key.dtype} and {value.dtype}: "
            "convert with .to(query.dtype)"
        )
    if not query.dtype.is_floating_point:
        raise ArgumentError(f"query, key and value must be floating point; got {query.dtype}")
    if not query.device == key.device == value.device:
        raise ArgumentError(
            f"query, key and value must be on one device; got {query.device}, {key.device} and {value.device}"
        )


def _check_graph(graph: object, query: Tensor, key: Tensor) -> None:
    if isinstance(graph, Tensor):
        if graph.dtype != torch.bool:
            raise ArgumentError(
                f"graph must be a Graph or a boolean tensor, True = may attend; got {graph.dtype}: "
                "an additive mask is given as bias=, a mask of ones and zeros as mask.bool()"
            )
        _check_broadcast("graph", graph, query, key)
        return
    if not isinstance(graph, Graph):
        raise ArgumentError(
            "graph must be a Graph such as causal(), or a boolean tensor, True = may attend; "
            f"got {type(graph).__name__}"
        )
    if graph.length not in (None, key.shape[-2]):
        graph.ranges(query.shape[-2], key.shape[-2])  # which says what is wrong
    if graph.batch is not None and graph.batch != 1 and (query.dim() < 3 or query.shape[0] != graph.batch):
        raise ShapeError(
            f"graph differs by sequence, so query's first axis must be batch={graph.batch}; got {_show(query.shape)}"
        )


def _check_bias(bias: Tensor, query: Tensor, key: Tensor) -> None:
    if not bias.dtype.is_floating_point:
        raise ArgumentError(
            f"bias must be floating point, it is added to the scores; got {bias.dtype}: a mask is given as graph="
        )
    _check_broadcast("bias", bias, query, key)


def _check_broadcast(name: str, given: Tensor, query: Tensor, key: Tensor) -> None:
    wanted = (*query.shape[:-1], key.shape[-2])
    fits = given.dim() <= len(wanted) and all(
        n in (1, w) for n, w in zip(reversed(given.shape), reversed(wanted), strict=False)
    )
    if not fits:
        hint = " — transposed?" if given.shape[-2:] == (wanted[-1], wanted[-2]) else ""
        raise ShapeError(
            f"{name} must broadcast to the scores (…, query={wanted[-2]}, key={wanted[-1]}) = {_show(wanted)}; "
            f"got {_show(given.shape)}{hint}"
        )
    if given.device != query.device:
        raise ArgumentError(f"{name} must be on the device of query, {query.device}; got {given.device}")


def _check_sinks(sinks: Tensor, query: Tensor) -> None:
    heads = query.shape[-3] if query.dim() > 2 else 1
    if sinks.shape != (heads,):
        raise ShapeError(f"sinks must be (heads={heads},), one logit a query head; got {_show(sinks.shape)}")
    if not sinks.dtype.is_floating_point:
        raise ArgumentError(f"sinks must be floating point; got {sinks.dtype}")


def _show(shape: tuple[int, ...] | torch.Size, *more: str) -> str:
    sizes = [*map(str, shape), *more]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
