"""The definition of attention: every stage under its own name, one line each, nothing clever.

Every fast route is tested against this file, values and gradients. It stores the whole (query, key) matrix several
times over and is meant to be read, looked into and compared with; `attend` is the function for work.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from edgewise.attention.call import checked, grouped
from edgewise.attention.edges import allowed
from edgewise.attention.normalise import Along, Normaliser, divide_by_sum, softmax
from edgewise.errors import ArgumentError
from edgewise.graphs import Graph

__all__ = ["Stages", "reference", "survivors"]


class Stages(NamedTuple):
    """One call of attention, stage by stage; all but `out` are float32 where the inputs are half precision."""

    allowed: Bool[Tensor, "*lead query key"]
    """The graph: True where the query may read the key."""
    raw: Float[Tensor, "*lead query key"]
    """query · key for every pair, the future included."""
    scaled: Float[Tensor, "*lead query key"]
    """raw × scale, then the soft cap, then the bias."""
    masked: Float[Tensor, "*lead query key"]
    """scaled where there is an edge; elsewhere −∞, or 0 where the normaliser is the sum."""
    weights: Float[Tensor, "*lead query key"]
    """masked, normalised: how each query shares itself out."""
    dropped: Float[Tensor, "*lead query key"]
    """The weights that carry the values: `weights` itself without dropout."""
    out: Float[Tensor, "*lead query width"]
    """dropped · value: what each query takes home, in value's dtype."""


def reference(
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
    normalise: Normaliser = "softmax",
    along: Along = "keys",
) -> Stages:
    """Attention with every stage kept: softmax(query · keyᵀ × scale) · value, along the edges of `graph`.

    The third axis from the end is heads. Key and value may have fewer of them, as long as they divide the query's:
    query head h reads key-value head h // (heads // groups). A query with no key takes home zeros.

    Args:
        query: what each position looks for.
        key: what each position offers to be found by.
        value: what each position hands over once found.
        graph: which edges exist, aligned at the end; None for all. A boolean tensor works too, True = may attend.
        scale: multiplies the raw scores; None for width ** -0.5, 1.0 for none.
        bias: added to the scaled scores; anything that broadcasts to them.
        soft_cap: scores are squeezed into ±soft_cap by soft_cap · tanh(score / soft_cap), before the bias.
        sinks: one learned score a head that joins the softmax's sum and carries nothing.
        dropout: share of the weights set to zero, the others grown to make up for it; 0 for none.
        generator: where dropout's random numbers come from; None for torch's own.
        normalise: "softmax", or "sum" for dividing by the plain sum.
        along: who allocates: "keys" makes each query's row sum to 1, "queries" each key's column, "all" the matrix.

    Raises:
        ShapeError: two shapes do not fit together.
        ArgumentError: a number, a dtype or a name is not one that attention can use.

    Example:
        >>> from edgewise.graphs import causal
        >>> x = torch.tensor([[2.0, 7.0], [6.0, 4.0], [6.0, 5.0]])
        >>> reference(0 * x, x, x, causal()).out  # every score 0: the average of what may be seen
        tensor([[2.0000, 7.0000],
                [4.0000, 5.5000],
                [4.6667, 5.3333]])
    """
    call = checked(query, key, value, graph, scale, bias, soft_cap, sinks, dropout, generator)
    if sinks is not None and (normalise, along) != ("softmax", "keys"):
        raise ArgumentError(f'sinks need normalise="softmax" and along="keys"; got {normalise!r} and {along!r}')
    wide = torch.promote_types(query.dtype, torch.float32)
    keys, values = _one_for_each_head(key, grouped(call)).to(wide), _one_for_each_head(value, grouped(call)).to(wide)

    raw = query.to(wide) @ keys.transpose(-2, -1)
    scaled = raw * call.scale
    if soft_cap is not None:
        scaled = soft_cap * torch.tanh(scaled / soft_cap)
    if bias is not None:
        scaled = scaled + bias.to(wide)
    edges = allowed(call)
    edges = torch.ones_like(raw, dtype=torch.bool) if edges is None else edges.expand(raw.shape)
    if normalise == "softmax":
        masked = scaled.masked_fill(~edges, -torch.inf)
        weights = softmax(masked, along, None if sinks is None else sinks.to(wide).reshape(*raw.shape[-3:-2], 1, 1))
    elif normalise == "sum":
        masked = scaled.masked_fill(~edges, 0)
        weights = divide_by_sum(scaled, edges, along)
    else:
        raise ArgumentError(f'normalise must be "softmax" or "sum"; got {normalise!r}')
    dropped = weights * survivors(weights, dropout, generator) if dropout else weights
    out = (dropped @ values).to(value.dtype)
    return Stages(edges, raw, scaled, masked, weights, dropped, out)


def survivors(weights: Tensor, dropout: float, generator: torch.Generator | None) -> Tensor:
    """What dropout multiplies the weights with: 0 for the dropped share, 1 / (1 − dropout) for the others."""
    drawn = torch.rand(weights.shape, generator=generator, device=weights.device)
    return (drawn >= dropout).to(weights.dtype) / (1 - dropout)


def _one_for_each_head(groups: Tensor, heads_each: int) -> Tensor:
    return groups if heads_each == 1 else groups.repeat_interleave(heads_each, dim=-3)
