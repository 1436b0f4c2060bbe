"""`attend`, the one function that everything here computes attention with, and `route_of`, which says how it would."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from edgewise.attention.call import checked
from edgewise.attention.routes import ROUTES, Route, choose, forced
from edgewise.graphs import Graph

__all__ = ["attend", "route_of"]


def attend(
    query: Float[Tensor, "*lead query width"],
    key: Float[Tensor, "*keys key width"],
    value: Float[Tensor, "*keys key channels"],
    graph: Graph | Bool[Tensor, "*graph"] | None = None,
    *,
    scale: float | None = None,
    bias: Float[Tensor, "*bias"] | None = None,
    soft_cap: float | None = None,
    sinks: Float[Tensor, "heads"] | None = None,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
    route: str = "auto",
) -> Float[Tensor, "*lead query channels"]:
    """softmax(query · keyᵀ × scale) · value along the edges of `graph`, by the fastest route that serves the call.

    The arguments mean what they mean in `reference`, with which every route agrees up to rounding. `route` forces one
    by name; dropout draws other random numbers on each route.

    Raises:
        ShapeError: two shapes do not fit together.
        ArgumentError: a number, a dtype or a name is not one that attention can use, or the route cannot serve it.

    Example:
        >>> from edgewise.graphs import causal
        >>> x = torch.eye(3)
        >>> attend(x, x, x, causal(), scale=0.0)
        tensor([[1.0000, 0.0000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333]])
    """
    call = checked(query, key, value, graph, scale, bias, soft_cap, sinks, dropout, generator)
    taken = choose(call) if route == "auto" else forced(call, route)
    return ROUTES[taken.name].run(call)


def route_of(
    query: Float[Tensor, "*lead query width"],
    key: Float[Tensor, "*keys key width"],
    value: Float[Tensor, "*keys key channels"],
    graph: Graph | Bool[Tensor, "*graph"] | None = None,
    *,
    scale: float | None = None,
    bias: Float[Tensor, "*bias"] | None = None,
    soft_cap: float | None = None,
    sinks: Float[Tensor, "heads"] | None = None,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
    route: str = "auto",
) -> Route:
    """The route that `attend` takes for these arguments, and why.

    Raises:
        ShapeError: two shapes do not fit together.
        ArgumentError: a number, a dtype or a name is not one that attention can use, or the route cannot serve it.

    Example:
        >>> x = torch.zeros(2, 4, 8)
        >>> route_of(x, x, x, soft_cap=30.0)
        Route(name='matmul', why='the fused function cannot serve soft_cap')
    """
    call = checked(query, key, value, graph, scale, bias, soft_cap, sinks, dropout, generator)
    return choose(call) if route == "auto" else forced(call, route)
