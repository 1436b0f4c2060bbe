"""A causal layer with learned positions and a cache: a step begins at position 0 again, or where the cache ends."""

from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.properties.examples.layer import Layer, attended, causal
from edgewise.checks.property import Example

__all__ = ["broken", "right"]


class _Stepped(Layer):
    def __init__(self, counts: bool) -> None:
        super().__init__()
        self.counts, self.places = counts, nn.Embedding(32, self.width).double()

    def forward(self, x: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        past, new = (cache[0].shape[2] if cache else 0), x.shape[1]
        query, key, value = self.projected(x + self.places(torch.arange(new) + (past if self.counts else 0)))
        if cache:
            key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        return self.mixed(attended(query, key, value, causal(new, past + new))), (key, value)


def broken() -> Example:
    """Positions of a step count its new tokens alone."""
    return Example(_Stepped(counts=False))


def right() -> Example:
    """The cached length is added."""
    return Example(_Stepped(counts=True))
