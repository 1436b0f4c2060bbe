"""The sdpa route: torch's own `scaled_dot_product_attention`, told about the graph as cheaply as it can be.

It has no soft cap and no sinks, it draws dropout from torch's own random numbers, and its `is_causal` is aligned at the
start where our graphs are aligned at the end, so it is used for square scores alone. It scales after masking, so that
a scale of zero makes NaN of −∞ and a negative one makes the forbidden keys the best ones.
"""

import math

from torch import Tensor, inf
from torch.nn.functional import scaled_dot_product_attention

from edgewise.attention.call import Call
from edgewise.attention.edges import allowed, simple

__all__ = ["obstacle", "run"]


def obstacle(call: Call) -> str | None:
    """What stands in this route's way, if anything."""
    if call.scale <= 0:
        return "a scale of 0 or less"
    if call.soft_cap is not None:
        return "soft_cap"
    if call.sinks is not None:
        return "sinks"
    if call.dropout and call.generator is not None:
        return "dropout with a generator"
    return None


def run(call: Call) -> Tensor:
    """The output, from the fused function."""
    query, key, value = call.query, call.key, call.value
    rows, columns = query.shape[-2], key.shape[-2]
    kind = simple(call.graph, rows)
    is_causal = kind == "causal" and rows == columns and call.bias is None
    mask = None if is_causal or (kind == "everything" and call.bias is None) else _mask(call)
    groups_differ = query.dim() > 2 and query.shape[-3] != key.shape[-3]
    if query.dim() == 4:
        return scaled_dot_product_attention(
            query, key, value, mask, call.dropout, is_causal, scale=call.scale, enable_gqa=groups_differ
        )
    # The fused kernels want four dimensions; offered others, torch takes its slow path.
    if mask is not None and mask.dim() > 2:
        mask = _four(mask.expand(*query.shape[:-1], columns))
    query, key, value = _four(query), _four(key), _four(value)
    out = scaled_dot_product_attention(
        query, key, value, mask, call.dropout, is_causal, scale=call.scale, enable_gqa=groups_differ
    )
    return out.reshape(*call.query.shape[:-1], value.shape[-1])


def _mask(call: Call) -> Tensor | None:
    edges = allowed(call)
    if call.bias is None:
        return edges
    bias = call.bias.to(call.query.dtype)
    return bias if edges is None else bias.masked_fill(~edges, -inf)


def _four(tensor: Tensor) -> Tensor:
    heads = tensor.shape[-3] if tensor.dim() > 2 else 1
    return tensor.reshape(math.prod(tensor.shape[:-3]), heads, *tensor.shape[-2:])
