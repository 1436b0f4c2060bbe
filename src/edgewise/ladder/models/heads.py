"""Heads: several attentions side by side, each looking for something of its own.

The width is dealt out: each head gets its share of query, key and value, blends the past with weights of its own, and a
last projection mixes what they found. The products cost what one head of the full width did. Attention has become a
part with a name, and so a class.
"""

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


class LanguageModel(nn.Module):
    """Blends the past by several heads."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.attention = Attention(size)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        x = self.attention(x)
        return self.predict(x)
