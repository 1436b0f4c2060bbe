"""Scores: how much a position reads of another comes from the two of them.

The one line that makes an average attention. Each position asks with a query and is found by its key, two projections
of the same x, so that what a token seeks can differ from what it offers; their dot product is the score. The mask, the
softmax and the weighted sum stay as they were. What is handed over is still the whole representation.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the past by how well each query meets each key."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.query = nn.Linear(size.width, size.width, bias=False)
        self.key = nn.Linear(size.width, size.width, bias=False)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        scores = self.query(x) @ self.key(x).transpose(-2, -1)
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = weights @ x
        return self.predict(out)
