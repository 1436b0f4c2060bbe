"""Layernorm: each part reads x at the same scale, whatever has been added to it.

Along its row, that is over its own channels, each position's vector is brought to mean 0 and variance 1, then given a
gain and a shift that are learned. Before each part and before the prediction; the sum itself is left alone.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned, attend
from edgewise.graphs import causal
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class Attention(nn.Module):
    """Gathers from the past with each head, and mixes what the heads bring home."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.query = nn.Linear(size.width, size.width, bias=False)
        self.key = nn.Linear(size.width, size.width, bias=False)
        self.value = nn.Linear(size.width, size.width, bias=False)
        self.mix = nn.Linear(size.width, size.width, bias=False)

    def forward(self, x: Float[Tensor, "batch query channels"]) -> Float[Tensor, "batch query channels"]:
        query, key, value = self.deal(self.query(x)), self.deal(self.key(x)), self.deal(self.value(x))
        out = attend(query, key, value, causal())
        return self.mix(out.transpose(-3, -2).flatten(-2))

    def deal(self, x: Float[Tensor, "batch query channels"]) -> Float[Tensor, "batch heads query width"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)


class Norm(nn.Module):
    """Brings each position's vector to mean 0 and variance 1, then to a learned scale."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size.width))
        self.shift = nn.Parameter(torch.zeros(size.width))

    def forward(self, x: Float[Tensor, "batch query channels"]) -> Float[Tensor, "batch query channels"]:
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-5) * self.gain + self.shift


class LanguageModel(nn.Module):
    """Adds to each token what its parts make of it, each part reading it normalised."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.attention_norm = Norm(size)
        self.attention = Attention(size)
        self.feed_norm = Norm(size)
        self.feed = nn.Sequential(
            nn.Linear(size.width, 4 * size.width), nn.GELU(), nn.Linear(4 * size.width, size.width)
        )
        self.norm = Norm(size)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        x = x + self.attention(self.attention_norm(x))
        x = x + self.feed(self.feed_norm(x))
        return self.predict(self.norm(x))
