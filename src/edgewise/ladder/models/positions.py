"""Positions: a token is also where it stands.

A weighted sum does not care about order: `dogs` and `gods` end in the same blend. So each position gets a row of its
own in a second table, added to the token's row; adding keeps the width, and nothing after it changes. The loss does
not fall yet. The table has `block` rows and no more: a longer sequence must be cropped to its last `block` tokens.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the past evenly, each token marked with its place."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        scores = torch.zeros(length, length).to(x)
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = weights @ x
        return self.predict(out)
