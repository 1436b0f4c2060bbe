"""Scale: the scores keep the variance of what they are made from.

A dot product of `width` independent terms of variance 1 has variance `width`; divided by √width it has 1 again. Without
it a wide head starts out reading one position alone, with hardly a gradient to learn otherwise. With it every symbol of
softmax(QKᵀ/√d)·V is there.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the values of the past by scaled dot products: attention."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.query = nn.Linear(size.width, size.width, bias=False)
        self.key = nn.Linear(size.width, size.width, bias=False)
        self.value = nn.Linear(size.width, size.width, bias=False)
        self.scale = size.width**-0.5
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * self.scale
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = weights @ self.value(x)
        return self.predict(out)
