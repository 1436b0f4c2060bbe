"""The ways to compute one call, and which of them to take.

A route is a file with two functions: `obstacle(call)` names the feature it cannot serve, or None, and `run(call)`
returns the output. Adding one is that file and a line in `ROUTES`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from torch import Tensor

from edgewise.attention import blocks, flex, fused, matmul
from edgewise.attention.call import Call, wants_gradients
from edgewise.attention.edges import simple
from edgewise.attention.reference import reference
from edgewise.errors import ArgumentError
from edgewise.graphs import Graph

__all__ = ["ROUTES", "Route", "RouteName", "choose", "forced"]

# Below these a dense mask costs less than cutting the graph into tiles.
_ROWS, _CELLS = 64, 1 << 16
# Above this share of the cells the fused function with a dense mask is as fast; its forward in half precision sooner.
_SHARE, _SHARE_HALF = 0.6, 0.4

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
    "blocks": _Way(blocks.obstacle, blocks.run),
    "flex": _Way(flex.obstacle, flex.run),
}


def choose(call: Call) -> Route:
    """The fastest route that serves this call."""
    rows, columns = call.query.shape[-2], call.key.shape[-2]
    kind = simple(call.graph, rows)
    big = rows >= _ROWS and rows * columns >= _CELLS and blocks.obstacle(call) is None
    if big and kind is None and isinstance(call.graph, Graph):
        share = blocks.share(call.graph, rows, columns)
        half = call.query.dtype.itemsize < 4 and not wants_gradients(call)
        if share <= (_SHARE_HALF if half else _SHARE):
            return Route("blocks", f"{share:.0%} of the cells hold every edge; the rest is skipped")
    exact: RouteName = "blocks" if big else "matmul"
    obstacle = fused.obstacle(call)
    if obstacle is not None:
        return Route(exact, f"the fused function cannot serve {obstacle}")
    if call.query.device.type == "cpu" and call.query.dtype.itemsize < 4 and wants_gradients(call):
        return Route(exact, "the fused function's backward is slow in half precision on a CPU")
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
