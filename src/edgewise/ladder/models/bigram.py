"""Bigram: each token alone says what comes next.

One table with one row a token. The row does two jobs at once: it is what the token is, and it is the scores of every
token that may follow. No position looks to its left, so the last guess after `hou`, `you` and `thou` is the same.
Takes sequences of any length.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class LanguageModel(nn.Module):
    """Looks up, for each token, the logits of the next one."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch query vocabulary"]:
        x = self.token(tokens)
        return x  # noqa: RET504 — the next rung predicts from it here
