"""The ways to compute one call, and which of them to take.

A route is a file with two functions: `obstacle(call)` names the feature it cannot serve, or None, and `run(call)`
returns the output. Adding one is that file and a line in `ROUTES`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from edgewise.attention import fused, matmul
from edgewise.attention.call import Call
from edgewise.attention.edges import simple
from edgewise.attention.reference import reference
from edgewise.errors import ArgumentError

__all__ = ["ROUTES", "Route", "RouteName", "choose", "forced"]

RouteName = Literal["reference", "matmul", "sdpa", "blocks", "flex"]


class Route(NamedTuple):
    """The route that a call takes, and why."""

    name: RouteName
    why: str


class _Way(NamedTuple):
    obstacle: Callable[[Call], str | None]
    run: Callable[[Call], Tensor]


def _by_reference(call: Call) -> Tensor:
    q, k, v, graph, scale, bias, soft_cap, sinks, dropout, generator = call
    return reference(
        q, k, v, graph, scale=scale, bias=bias, soft_cap=soft_cap, sinks=sinks, dropout=dropout, generator=generator
    ).out


ROUTES: dict[str, _Way] = {
    "reference": _Way(matmul.obstacle, _by_reference),
    "matmul": _Way(matmul.obstacle, matmul.run),
    "sdpa": _Way(fused.obstacle, fused.run),
}


def choose(call: Call) -> Route:
    """The fastest route that serves this call."""
    obstacle = fused.obstacle(call)
    if obstacle is not None:
        return Route("matmul", f"the fused function has no {obstacle}")
    if call.query.device.type == "cpu" and call.query.dtype.itemsize < 4 and _wants_gradients(call):
        return Route("matmul", "on a CPU the fused function's backward is slow in half precision")
    kind = simple(call.graph, call.query.shape[-2])
    return Route("sdpa", "the fused function serves this" + ("" if kind else ", given a dense mask"))


def forced(call: Call, name: str) -> Route:
    """The route that was asked for.

    Raises:
        ArgumentError: there is no such route, or something in this call stands in its way.
    """
    if name not in ROUTES:
        raise ArgumentError(f"route must be one of auto, {', '.join(ROUTES)}; got {name!r}")
    obstacle = ROUTES[name].obstacle(call)
    if obstacle is not None:
        able = [other for other, way in ROUTES.items() if way.obstacle(call) is None]
        raise ArgumentError(f"route {name!r} cannot serve {obstacle}; {', '.join(able)} can")
    return Route(name, "asked for")  # pyright: ignore[reportArgumentType] - a key of ROUTES


def _wants_gradients(call: Call) -> bool:
    return torch.is_grad_enabled() and (call.query.requires_grad or call.key.requires_grad or call.value.requires_grad)
