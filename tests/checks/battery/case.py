"""A case: a target that is right or wrong in one way, and what a checker should say of it; and parts to build from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

CASES: dict[str, "Case"] = {}
CHANNELS, HEADS = 16, 4


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    property: str
    """The family that must be named; "" for a trap, which must not be flagged at all."""
    kinds: tuple[str, ...]
    """Sub-kinds that name the fault; the first is meant, the others cannot be told from it from outside."""
    build: Callable[[bool], Any]
    declared: dict[str, Any] = field(default_factory=dict)
    routes: Callable[[str], bool] | None = None
    """Which routes, as text, may be named, where that is sharp."""
    other: tuple[str, ...] = ()
    """Other families that say the same of it."""


def case(property_name: str, *kinds: str, other: tuple[str, ...] = (), routes=None, **declared):
    """Add a builder, called with True for the right target and False for the wrong one."""

    def add(build):
        name = build.__name__
        assert name not in CASES, name
        CASES[name] = Case(name, property_name, kinds, build, declared, routes, other)
        return build

    return add


def trap(**declared):
    """Add a right target that looks wrong."""

    def add(build):
        CASES[build.__name__] = Case(build.__name__, "", (), lambda ok: build(), declared)
        return build

    return add


def split(x: Tensor, heads: int) -> Tensor:
    """(batch, tokens, channels) → (batch, heads, tokens, width)."""
    batch, tokens, channels = x.shape
    return x.view(batch, tokens, heads, channels // heads).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """(batch, heads, tokens, width) → (batch, tokens, channels)."""
    batch, heads, tokens, width = x.shape
    return x.transpose(1, 2).reshape(batch, tokens, heads * width)


def by_hand(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None, scale: float | None = None) -> Tensor:
    """Attention written out."""
    scores = q @ k.transpose(-2, -1) * (q.size(-1) ** -0.5 if scale is None else scale)
    if keep is not None:
        scores = scores.masked_fill(~keep, float("-inf"))
    return scores.softmax(-1) @ v


def triangle(query: int, key: int | None = None) -> Tensor:
    """True where the key is not in the query's future; both end at the same token."""
    key = query if key is None else key
    return torch.ones(query, key, dtype=torch.bool).tril(key - query)


class Projections(nn.Module):
    """What every layer here has: four projections and a number of heads."""

    def __init__(self, channels: int = CHANNELS, heads: int = HEADS) -> None:
        super().__init__()
        self.heads, self.channels = heads, channels
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))

    def qkv(self, x: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        read = x if memory is None else memory
        return split(self.query(x), self.heads), split(self.key(read), self.heads), split(self.value(read), self.heads)
