"""Loop: each position takes the average of all that it has seen.

The crudest way to use the context: position t hands on the mean of the representations 0 … t, its own included, and
nothing of what comes later, since that is the answer. Order is lost, every token counts the same, and Python walks over
each position of each sequence. Takes sequences of any length.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Averages the past, one position at a time."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens)
        out = torch.zeros_like(x)
        for sequence in range(len(x)):
            for position in range(length):
                out[sequence, position] = x[sequence, : position + 1].mean(dim=0)
        return self.predict(out)
