"""What a model hands its attention as masks, told apart: which edges exist, what is added to the scores.

A model's mask is a boolean tensor, or numbers to add of which some mean "no edge": −∞, the lowest number of the dtype,
or the −10,000 and −10⁹ of older code. Numbers at or below `HIDDEN` count as no edge, others as a bias. Most models give
all their layers one mask, so what was found for a mask is remembered for as long as the trace lasts.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from edgewise.graphs import Graph, Ranges, causal, full, keys, recognise, window

__all__ = ["HIDDEN", "Deferred", "Edges", "Mask", "Memory", "aligned_at_the_start", "edges_of", "last_seen"]


class Deferred(NamedTuple):
    """A mask that costs something to make."""

    of: tuple[object, ...]
    """What it is made of: the same objects and numbers stand for the same mask."""
    make: Callable[[], Tensor]


Mask = Tensor | Graph | Deferred

HIDDEN = -1e4
"""A number that is added to a score to say that there is no edge: this, or anything below."""

_REMEMBERED = 16


class Edges(NamedTuple):
    """What the masks of one call mean."""

    allowed: Graph | Tensor
    """The graph, where it has a name; else booleans (batch or 1, heads or 1, query, key)."""
    bias: Tensor | None
    """Finite numbers that are added to the scaled scores."""
    hidden: float
    """The number that stands where there is no edge; it matters only to a query without any key."""


class Memory:
    """What has been found for the last few masks, each held so that its memory is not used again meanwhile."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()
        self._lock = threading.RLock()  # a model may run in several threads

    def recall(self, masks: tuple[Mask, ...], lengths: tuple[int, ...], find: Callable[[], Any]) -> Any:
        """What `find` returned for these masks before, or returns now."""
        key = (lengths, *map(_identity, masks))
        with self._lock:
            if key not in self._found:
                self._found[key] = (masks, find())
                if len(self._found) > _REMEMBERED:
                    self._found.popitem(last=False)
            self._found.move_to_end(key)
            return self._found[key][1]


def edges_of(masks: tuple[Mask, ...], query: int, key: int, memory: Memory) -> Edges:
    """What the masks say together: an edge must be allowed by each, and what is added is added up."""
    return memory.recall(masks, (query, key), lambda: _edges(masks, query, key, memory))


def last_seen(masks: tuple[Mask, ...], query: int, key: int, memory: Memory) -> int:
    """The number of keys up to the last that any query may read: a fixed cache has empty places behind it."""

    def find() -> int:
        allowed = _split(masks, query, key, memory)[0]
        if not isinstance(allowed, Tensor):
            return key
        columns = allowed.expand(*allowed.shape[:-1], key).flatten(0, -2).any(0).nonzero()
        return int(columns[-1]) + 1 if len(columns) else key

    return memory.recall(masks, (query, key, 1), find) if masks else key


def aligned_at_the_start(query: int, key: int, device: torch.device) -> Mask:
    """Causal as torch's `is_causal` means it: the first query sees the first key, whatever the lengths."""
    if query == key:
        return causal()
    if query > key:
        return window(query, ahead=query - key)
    return torch.ones(query, key, dtype=torch.bool, device=device).tril_()


def _identity(mask: Mask) -> Any:
    if isinstance(mask, Graph):
        return mask
    if isinstance(mask, Deferred):
        return tuple(one if isinstance(one, int) else id(one) for one in mask.of)
    version = 0 if mask.is_inference() else mask._version
    return mask.data_ptr(), mask.shape, mask.stride(), mask.dtype, mask.device, version


def _edges(masks: tuple[Mask, ...], query: int, key: int, memory: Memory) -> Edges:
    allowed, bias, hidden = _split(masks, query, key, memory)
    if isinstance(allowed, Tensor):
        named = _named(allowed, key)
        allowed = allowed.expand(*allowed.shape[:-2], query, key) if named is None else named
    return Edges(allowed, bias, hidden)


def _split(masks: tuple[Mask, ...], query: int, key: int, memory: Memory) -> Edges:
    """The edges before they are given a name."""
    return memory.recall(masks, (query, key, 2), lambda: _joined([_one(mask) for mask in masks], query, key))


def _one(mask: Mask) -> Edges:
    if isinstance(mask, Graph):
        return Edges(mask, None, -torch.inf)
    mask = _distinct((mask.make() if isinstance(mask, Deferred) else mask).detach())
    if mask.dtype == torch.bool:
        return Edges(_same_for_all(mask), None, -torch.inf)
    low = mask <= HIDDEN
    if not bool(low.any()):
        return Edges(full(), mask if bool(mask.any()) else None, -torch.inf)
    hidden, highest = float(mask.min()), float(mask.masked_fill(~low, -torch.inf).max())
    rest = mask.masked_fill(low, 0)
    bias = rest if bool(rest.any()) else None
    nobody = low.all(-1, keepdim=True)
    if hidden != highest and bool(nobody.any()):
        # Such a row is no row of equal numbers: its softmax goes by them, so they stay a bias there.
        bias, low = torch.where(nobody, mask, rest), low & ~nobody
    return Edges(_same_for_all(~low), bias, hidden)


def _joined(found: list[Edges], query: int, key: int) -> Edges:
    allowed: Graph | Tensor = full()
    bias, hidden = None, -torch.inf
    for one in found:
        allowed = _both(allowed, one.allowed, query, key)
        if one.bias is not None:
            bias = one.bias if bias is None else bias + one.bias
        hidden = max(hidden, one.hidden)
    return Edges(allowed, bias, hidden)


def _both(one: Graph | Tensor, other: Graph | Tensor, query: int, key: int) -> Graph | Tensor:
    if one == full() or other == full():
        return other if one == full() else one
    if isinstance(one, Graph) and isinstance(other, Graph):
        return one & other
    device = one.device if isinstance(one, Tensor) else other.device  # pyright: ignore[reportAttributeAccessIssue]
    left, right = (_dense(side, query, key, device) for side in (one, other))
    return left & right


def _dense(side: Graph | Tensor, query: int, key: int, device: torch.device) -> Tensor:
    if isinstance(side, Tensor):
        return side
    dense = torch.from_numpy(side.dense(query, key)).to(device)
    return dense[:, None] if dense.dim() == 3 else dense[None, None]


def _distinct(mask: Tensor) -> Tensor:
    """The mask with four axes, each of size 1 where it says the same all along."""
    mask = mask.reshape(*(1,) * (4 - mask.dim()), *mask.shape) if mask.dim() < 4 else mask
    for axis in range(3):
        if mask.shape[axis] > 1 and mask.stride(axis) == 0:
            mask = mask.narrow(axis, 0, 1)
    return mask


def _same_for_all(allowed: Tensor) -> Tensor:
    """The edges once, where they stand there once for each head."""
    one = allowed[:, :1]
    return one if allowed.shape[1] > 1 and torch.equal(allowed, one.expand_as(allowed)) else allowed


def _named(allowed: Tensor, key: int) -> Graph | None:
    """The graph with these edges, where it has a name and does not differ by head."""
    if allowed.shape[1] > 1:
        return None
    if allowed.shape[2] == 1:
        kept = allowed.expand(-1, -1, 1, key)[:, 0, 0].cpu().numpy()
        return full() if kept.all() else keys(kept[0] if (kept == kept[:1]).all() else kept)
    return recognise(_ranges(allowed.expand(*allowed.shape[:-1], key)[:, 0]))


def _ranges(allowed: Tensor) -> Ranges | np.ndarray:
    """The runs of each row: at once where a row has only one, which is what most masks are made of."""
    key = allowed.shape[-1]
    count, start = allowed.sum(-1), allowed.to(torch.uint8).argmax(-1)
    stop = key - allowed.flip(-1).to(torch.uint8).argmax(-1)
    if bool((count == torch.where(count > 0, stop - start, 0)).all()):
        first = torch.where(count > 0, start, key)[:, None].cpu().numpy()
        last = torch.where(count > 0, stop, key)[:, None].cpu().numpy()
        return Ranges(first, last, key)
    return allowed.cpu().numpy()
