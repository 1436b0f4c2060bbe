"""Matmul: the same average, as one product of matrices.

Row t of `weights @ x` is a weighted sum of the rows of x, and the weights are row t of `weights`. Ones on and below the
diagonal add up the past; dividing each row by its own sum (`keepdim`, or columns would be divided instead) makes it the
mean. No loop is left, but a weight can only be uniform: scores such as 2, −1, 3 would give negative weights, and 1, −1,
0 nothing to divide by. Takes sequences of any length.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Averages the past, all positions at once."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens)
        weights = torch.ones(length, length).to(x).tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = weights @ x
        return self.predict(out)
