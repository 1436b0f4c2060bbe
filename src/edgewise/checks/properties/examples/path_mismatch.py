"""A causal layer with learned positions and a cache: a step begins at position 0 again, or where the cache ends."""

from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.property import Example

__all__ = ["broken", "right"]


class _Layer(nn.Module):
    def __init__(self, counts: bool) -> None:
        super().__init__()
        self.heads, self.counts = 4, counts
        self.places = nn.Embedding(32, 16)
        self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        past, new = (cache[0].shape[2] if cache else 0), x.shape[1]
        x = x + self.places(torch.arange(new) + (past if self.counts else 0))
        q, k, v = (one(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for one in (self.q, self.k, self.v))
        if cache:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        keep = torch.ones(new, past + new, dtype=torch.bool).tril(past)
        out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.o(out.transpose(1, 2).flatten(2)), (k, v)


def broken() -> Example:
    """Positions of a step count its new tokens alone."""
    return Example(_Layer(counts=False))


def right() -> Example:
    """The cached length is added."""
    return Example(_Layer(counts=True))
