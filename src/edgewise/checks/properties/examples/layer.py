"""A layer of attention written out: what the examples change one line of."""

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Layer", "attended", "causal", "merged", "split"]


def split(x: Tensor, heads: int) -> Tensor:
    """(batch, tokens, channels) as (batch, heads, tokens, width)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merged(x: Tensor) -> Tensor:
    """(batch, heads, tokens, width) as (batch, tokens, channels)."""
    return x.transpose(1, 2).flatten(2)


def attended(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None = None) -> Tensor:
    """Attention along the edges where `keep` is True."""
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    if keep is not None:
        scores = scores.masked_fill(~keep, float("-inf"))
    return scores.softmax(-1) @ value


def causal(query: int, key: int | None = None) -> Tensor:
    """Which keys lie not after each query, aligned at the end."""
    key = query if key is None else key
    return torch.ones(query, key, dtype=torch.bool).tril(key - query)


class Layer(nn.Module):
    """Projections to query, key and value, and back: 16 channels, 4 heads, weights from a seed."""

    def __init__(self, channels: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.width = heads, channels
        chance = torch.Generator().manual_seed(0)
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels).double() for _ in range(4))
        for one in self.parameters():
            with torch.no_grad():
                one.copy_(torch.randn(one.shape, generator=chance, dtype=one.dtype) * channels**-0.5)

    def projected(self, x: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value, each (batch, heads, tokens, width)."""
        read = x if memory is None else memory
        return split(self.query(x), self.heads), split(self.key(read), self.heads), split(self.value(read), self.heads)

    def mixed(self, found: Tensor) -> Any:
        """What heads found, merged and projected."""
        return self.out(merged(found))
