"""Cross: one sequence asks, another is read.

Queries come from `tokens`, keys and values from `memory`, so the weights are (query, key) and need not be square: a
translation reads its source, a question its picture. With the same sequence twice it is the encoder, bit for bit.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the values of a second sequence into logits for each token of the first."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.query = nn.Linear(size.width, size.width, bias=False)
        self.key = nn.Linear(size.width, size.width, bias=False)
        self.value = nn.Linear(size.width, size.width, bias=False)
        self.scale = size.width**-0.5
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(
        self, tokens: Int[Tensor, "batch query"], memory: Int[Tensor, "batch key"]
    ) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        y = self.token(memory) + self.position(memory.shape[-1])
        scores = self.query(x) @ self.key(y).transpose(-2, -1) * self.scale
        weights = torch.softmax(scores, dim=-1)
        out = weights @ self.value(y)
        return self.predict(out)
