"""What is known of the places of a call: which hold a token, which queries have no key, what is added to the scores."""

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from edgewise.graphs import Graph
from edgewise.tracing.call import Attention
from edgewise.tracing.masks import HIDDEN, Deferred, Mask

__all__ = ["bias_of", "no_keys", "tokens"]


def tokens(call: Attention, which: Literal["queries", "keys"]) -> Tensor:
    """Where there is a token, (batch or 1, 1, positions, 1): a key that nobody may read is padding.

    Of queries that is known where a sequence reads itself; otherwise each counts as a token.
    """
    query, key = call.query.shape[2], call.key.shape[2]
    if which == "queries" and (call.place.kind != "self" or key < query):
        return torch.ones(1, 1, query, 1, dtype=torch.bool, device=call.query.device)
    found = call.memory.recall(call.masks, (query, key, 4), lambda: _read(call.edges.allowed, call))
    return found[:, :, -query:] if which == "queries" else found


def no_keys(call: Attention) -> Tensor | None:
    """Which queries have no key at all, (batch or 1, heads or 1, query, 1); None where each has one."""

    def find() -> Tensor | None:
        allowed = call.edges.allowed
        if isinstance(allowed, Graph):
            ranges = allowed.ranges(call.query.shape[2], call.key.shape[2])
            nobody = torch.from_numpy(~(ranges.stop > ranges.start).any(-2)).to(call.query.device)
            nobody = nobody.reshape(-1, 1, call.query.shape[2], 1)
        else:
            nobody = ~allowed.any(-1, keepdim=True)
        return nobody if bool(nobody.any()) else None

    return call.memory.recall(call.masks, (call.query.shape[2], call.key.shape[2], 5), find)


def bias_of(call: Attention) -> Tensor | None:
    """What is added to the scores, with its gradients: what is remembered of masks has none."""
    bias = call.edges.bias
    if bias is None or not torch.is_grad_enabled():
        return bias
    for mask in call.masks:
        if _learns(mask):
            live = mask.make() if isinstance(mask, Deferred) else mask
            assert isinstance(live, Tensor)
            bias = bias + (live - live.detach()).masked_fill(live <= HIDDEN, 0)
    return bias


def _learns(mask: Mask) -> bool:
    of = mask.of if isinstance(mask, Deferred) else (mask,)
    return any(isinstance(one, Tensor) and one.requires_grad for one in of)


def _read(allowed: Graph | Tensor, call: Attention) -> Tensor:
    """Which keys any query may read."""
    query, key = call.query.shape[2], call.key.shape[2]
    if isinstance(allowed, Tensor):
        return allowed.expand(*allowed.shape[:-1], key).any(1).any(1)[:, None, :, None]
    ranges = allowed.ranges(query, key)
    start, stop = (one.reshape(-1, *one.shape[-2:]) for one in (ranges.start, ranges.stop))
    ends = np.zeros((len(start), key + 1), dtype=np.int64)
    for row, first, last in zip(ends, start, stop, strict=True):
        np.add.at(row, first.ravel(), 1)
        np.add.at(row, last.ravel(), -1)
    read = torch.from_numpy(ends.cumsum(-1)[:, :key] > 0)
    return read[:, None, :, None].to(call.query.device)
