"""Softmax: the same average again, from scores that could be anything.

Four lines: a score for each pair, −∞ where the key lies in the future, softmax along each row, and the weighted sum.
exp makes every score a positive weight and −∞ exactly none, and the division makes each row sum to 1. With all scores
zero it is the average still; what it buys is that the scores may now be chosen. Takes sequences of any length.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the past by the softmax of scores, all of them zero."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens)
        scores = torch.zeros(length, length).to(x)
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = weights @ x
        return self.predict(out)
