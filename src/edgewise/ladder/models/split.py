"""Split: what a token is, apart from what it predicts.

The table now holds a representation of any width, and a linear head turns it into scores. At a vocabulary of 65 and a
width of 32 the parameters are as many as before, and the loss is no better. What it buys is room: between the entrance
and the exit there is now a place to look at the context. Takes sequences of any length.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Represents each token, then scores the next one."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        x = self.token(tokens)
        return self.predict(x)
