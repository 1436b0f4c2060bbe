"""Encoder: the line of the mask is gone, and every position reads every other.

Right for a task whose answer is not in the input (a cloze, a label, a sentence to translate from). Trained to guess the
next token it copies the answer from the position on its right: a loss near zero, and garbage once it has to write.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the values of the whole sequence, the future included."""

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
        weights = torch.softmax(scores, dim=-1)
        out = weights @ self.value(x)
        return self.predict(out)
