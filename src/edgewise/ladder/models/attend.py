"""Attend: the four lines become one call.

Scores, mask, softmax and blend have earned a name. `attend` takes who asks, who is asked, what is handed over and the
graph of who may see whom, divides by √width by itself, and gives the same numbers and the same gradients. The encoder
is now `full()` in the place of `causal()`.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import Learned, attend
from edgewise.graphs import causal
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Blends the values of the past by scaled dot products, in one call."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.query = nn.Linear(size.width, size.width, bias=False)
        self.key = nn.Linear(size.width, size.width, bias=False)
        self.value = nn.Linear(size.width, size.width, bias=False)
        self.predict = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        length = tokens.shape[-1]
        x = self.token(tokens) + self.position(length)
        out = attend(self.query(x), self.key(x), self.value(x), causal())
        return self.predict(out)
