"""The matmul route: two batched matrix products around a softmax, no key-value head copied for its query heads.

It serves every feature on every device, and where gradients in half precision are wanted on a CPU it beats the fused
function, whose bfloat16 backward there is many times slower than its float32 one. Memory grows with query × key.
"""

from math import prod

import torch
from torch import Tensor

from edgewise.attention.call import Call, grouped
from edgewise.attention.edges import additive, simple
from edgewise.attention.reference import survivors

__all__ = ["obstacle", "run"]


def obstacle(call: Call) -> str | None:  # noqa: ARG001 - every route answers this question
    """Nothing: this route serves every call."""
    return None


def run(call: Call) -> Tensor:
    """The output, by two matrix products."""
    query, key, value = call.query, call.key, call.value
    each, rows, columns = grouped(call), query.shape[-2], key.shape[-2]
    shape = (*query.shape[:-1], columns)
    if each == 1 and _is_plain(call):
        return _plain(call).reshape(*shape[:-1], value.shape[-1])
    if each > 1:
        # The heads that share a key-value head stand below each other, as rows of one product.
        query = query.reshape(*key.shape[:-2], each * rows, query.shape[-1])
    scores = ((query * call.scale) @ key.transpose(-2, -1)).reshape(shape)
    weights, kept = _weights(call, scores)
    if call.dropout:
        weights = weights * survivors(weights, call.dropout, call.generator)
    weights = weights.to(value.dtype)
    if each > 1:
        weights = weights.reshape(*key.shape[:-2], each * rows, columns)
    out = (weights @ value).reshape(*shape[:-1], value.shape[-1])
    return out if kept is None else out * kept.to(out.dtype)


def _is_plain(call: Call) -> bool:
    """Whether nothing happens between the scores and their softmax but scaling and the causal mask."""
    extras = (call.bias, call.soft_cap, call.sinks)
    rows, columns = call.query.shape[-2], call.key.shape[-2]
    return (
        all(extra is None for extra in extras)
        and not call.dropout
        and rows <= columns
        and simple(call.graph, rows) == "causal"
    )


def _plain(call: Call) -> Tensor:
    """The output of a plain causal call, all lead axes in one: the first product scales and masks as it writes."""
    lead = prod(call.query.shape[:-2])
    query, key, value = (part.reshape(lead, *part.shape[-2:]) for part in (call.query, call.key, call.value))
    mask, _ = additive(call, query.dtype)
    assert mask is not None
    scores = torch.baddbmm(mask, query, key.transpose(-2, -1), alpha=call.scale)
    return torch.bmm(torch.softmax(scores, -1), value)


def _weights(call: Call, scores: Tensor) -> tuple[Tensor, Tensor | None]:
    """The softmax of the scores, and what each row of the output keeps: none of it where there is no key to read."""
    if call.soft_cap is not None or call.bias is not None or call.sinks is not None:
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if call.soft_cap is not None:
        scores = call.soft_cap * torch.tanh(scores / call.soft_cap)
    mask, nobody = additive(call, scores.dtype)
    if mask is not None:
        scores = scores + mask
    kept = None if nobody is None else ~nobody
    if call.sinks is not None:
        # A sink with logit s leaves the other weights the share e^L / (e^L + e^s), L being their own logsumexp.
        sinks = call.sinks.to(scores.dtype)[:, None, None] if scores.dim() > 2 else call.sinks.to(scores.dtype)
        share = torch.sigmoid(scores.logsumexp(-1, keepdim=True) - sinks)
        kept = share if kept is None else share * kept
    return torch.softmax(scores, -1), kept
