"""Twelve targets that were wrong in public, each as its user had it, and each mended: what `check` is given to read.

Every one is made by a function of one argument, whether it is right. They are written in our own words after the public
set of attention faults; what each must be told, and what must be said of it, stands in `TARGETS`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CHANNELS, HEADS = 16, 4


def split(x: Tensor) -> Tensor:
    return x.unflatten(-1, (HEADS, CHANNELS // HEADS)).transpose(1, 2)


def joined(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def scored(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None = None, scale: float | None = None) -> Tensor:
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if keep is not None:
        scores = scores.masked_fill(~keep, float("-inf"))
    return scores.softmax(-1) @ value


def triangle(tokens: int) -> Tensor:
    return torch.ones(tokens, tokens, dtype=torch.bool).tril()


class Projected(nn.Module):
    def __init__(self, right: bool) -> None:
        super().__init__()
        self.right = right
        self.query, self.key, self.value, self.out = (nn.Linear(CHANNELS, CHANNELS).double() for _ in range(4))

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split(self.query(x)), split(self.key(x)), split(self.value(x))


class WeightsAsked(Projected):
    """P01: the fast way is causal by a flag; the way that gives weights has no mask."""

    def forward(self, x: Tensor, weights: bool = False) -> Tensor:
        query, key, value = self.heads(x)
        if not weights:
            return self.out(joined(F.scaled_dot_product_attention(query, key, value, is_causal=True)))
        return self.out(joined(scored(query, key, value, triangle(x.shape[1]) if self.right else None)))


class OneStep(Projected):
    """P02: the flag for causal stands also where one query meets many keys."""

    def step(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        query, key, value = self.heads(x)
        if cache:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        causal = query.shape[2] == key.shape[2] if self.right else True
        return self.out(joined(F.scaled_dot_product_attention(query, key, value, is_causal=causal))), (key, value)


class Windowed(Projected):
    """P03: a window of three keys reaches one further back."""

    def forward(self, x: Tensor) -> Tensor:
        at = torch.arange(x.shape[1])
        back = at[:, None] - at
        near = back < 3 if self.right else back <= 3
        return self.out(joined(scored(*self.heads(x), (back >= 0) & near)))


class Fused(Projected):
    """P04: the fused way forgets the mask of padding."""

    def forward(self, x: Tensor, mask: Tensor, fused: bool = True) -> Tensor:
        keep = mask[:, None, None, :]
        if not fused:
            return self.out(joined(scored(*self.heads(x), keep)))
        out = F.scaled_dot_product_attention(*self.heads(x), attn_mask=keep if self.right else None)
        return self.out(joined(out))


class Packed(Projected):
    """P06: positions begin anew with each document, and the mask is a triangle over all of them."""

    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        keep = triangle(x.shape[1])
        if self.right:
            document = (pos == 0).cumsum(-1)
            keep = keep & (document[..., :, None] == document[..., None, :])
            keep = keep[:, None] if keep.dim() == 3 else keep
        return self.out(joined(scored(*self.heads(x), keep)))


class Hidden(Projected):
    """P07: a mask in which True hides goes where True means keep."""

    def forward(self, x: Tensor) -> Tensor:
        hide = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        mask = ~hide if self.right else hide
        return self.out(joined(F.scaled_dot_product_attention(*self.heads(x), attn_mask=mask)))


class Placed(Projected):
    """P11: learned positions are counted from the first pad on."""

    def __init__(self, right: bool) -> None:
        super().__init__(right)
        self.places = nn.Embedding(16, CHANNELS).double()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        places = (mask.long().cumsum(-1) - 1).clamp(min=0) if self.right else torch.arange(x.shape[1]).expand_as(mask)
        keep = triangle(x.shape[1]) & mask.bool()[:, None, None, :]
        keep = keep | torch.eye(x.shape[1], dtype=torch.bool)
        return self.out(joined(scored(*self.heads(x + self.places(places)), keep)))


class Continued(Projected):
    """P12: positions of new tokens are counted from zero, whatever has been read."""

    def __init__(self, right: bool) -> None:
        super().__init__(right)
        self.places = nn.Embedding(16, CHANNELS).double()

    def forward(self, x: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        past, new = cache[0].shape[2] if cache else 0, x.shape[1]
        query, key, value = self.heads(x + self.places(torch.arange(new) + (past if self.right else 0)))
        if cache:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        keep = torch.ones(new, past + new, dtype=torch.bool).tril(past)
        return self.out(joined(scored(query, key, value, keep))), (key, value)


def batch_axis(right: bool) -> nn.Module:
    """P05: a layer that takes time first is given the batch first."""
    return nn.MultiheadAttention(CHANNELS, HEADS, batch_first=right).double()


def over_queries(right: bool) -> Callable[..., Tensor]:
    """P08: the softmax runs along the queries."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return scores.softmax(-1 if right else -2) @ v

    return attention


def of_the_model(right: bool) -> Callable[..., Tensor]:
    """P09: the scale is that of the model's width, four heads of eight."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scored(q, k, v, scale=(q.shape[-1] if right else q.shape[1] * q.shape[-1]) ** -0.5)

    return attention


def grouped(right: bool) -> Callable[..., Tensor]:
    """P10: the heads of keys are laid out one after the other, again and again."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        times = q.shape[1] // k.shape[1]
        if right:
            return scored(q, k.repeat_interleave(times, 1), v.repeat_interleave(times, 1))
        return scored(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1))

    return attention


@dataclass(frozen=True)
class Public:
    """A public case: how it is made, what is declared of it, and what must be said where it is wrong."""

    make: Callable[[bool], Any]
    offence: str
    kinds: str
    on: str = ""
    """What the routes that have it must say, and those that are clean must not."""
    likely: str = ""
    """A word of the likely cause."""
    declared: dict[str, Any] = field(default_factory=dict)


TARGETS = {
    "P01": Public(WeightsAsked, "future-leak", "A1", "weights=asked for", "mask"),
    "P02": Public(OneStep, "lost-visibility", "B1", "cached", "top-left"),
    "P03": Public(Windowed, "wrong-pattern", "C1", "", "window", {"graph": "window(3)"}),
    "P04": Public(Fused, "padding-leak", "D1", "", "mask", {"graph": "full()"}),
    "P05": Public(batch_axis, "batch-leak", "E1", "", "batch_first"),
    "P06": Public(Packed, "packing-leak", "F1", "packed", "document"),
    "P07": Public(Hidden, "mask-meaning", "G1", "", "True"),
    "P08": Public(over_queries, "normalisation", "H1", "", "queries"),
    "P09": Public(of_the_model, "scale", "I1", "", "width"),
    "P10": Public(grouped, "head-mapping", "J4", "", "tiled"),
    "P11": Public(Placed, "position", "K4", "left", "position"),
    "P12": Public(Continued, "path-mismatch", "L1", "cached", "position"),
}
