"""From logits to the next token: temperature, top-k, top-p and a seed, for several sequences at once.

A token is drawn by adding Gumbel noise to the logits and taking the largest, which is a draw from their softmax without
a softmax. The noise is a function of seed, sequence and step alone, so that one way of computing the logits can be
compared with another token for token, and a sequence does not depend on how many are written beside it.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["Chooser", "keep_nucleus", "keep_top"]

AHEAD = 2**12  # noise drawn at once for one sequence, in numbers; part of what a seed means


class Chooser:
    """Takes one token for each sequence; called once a step.

    Args:
        temperature: what logits are divided by; 0 takes the likeliest token and needs no seed.
        top_k: only this many likeliest tokens remain; None, or more than there are, keeps all.
        top_p: only the fewest likeliest tokens that together have this much probability remain; None keeps all.
        seed: sequence i of a batch draws with `seed + i`.
    """

    def __init__(
        self, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None, seed: int = 0
    ) -> None:
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self.seed = seed
        self._generators: list[torch.Generator] = []
        self._noise: list[Tensor] = []  # of the steps to come, the last first

    def __call__(self, logits: Float[Tensor, "batch vocabulary"]) -> Int[Tensor, " batch"]:
        """Return the token chosen for each row of logits."""
        if self.temperature == 0:
            return logits.argmax(-1)
        logits = logits.float()
        if self.temperature != 1:
            # From the largest down, so that a temperature near 0 cannot divide it up to infinity.
            logits = (logits - logits.amax(-1, keepdim=True)) / self.temperature
        if self.top_k is not None and self.top_k < logits.shape[-1]:
            logits = keep_top(logits, self.top_k)
        if self.top_p is not None and self.top_p < 1:
            logits = keep_nucleus(logits, self.top_p)
        if not self._noise:
            self._noise = self._draw(logits)
        return (logits + self._noise.pop()).argmax(-1)

    def _draw(self, logits: Tensor) -> list[Tensor]:
        batch, vocabulary = logits.shape
        # On the CPU whatever the device, so that a seed means the same everywhere.
        if not self._generators:
            self._generators = [torch.Generator().manual_seed(self.seed + row) for row in range(batch)]
        steps = max(1, AHEAD // vocabulary)
        drawn = torch.empty(batch, steps, vocabulary)
        for row, generator in zip(drawn, self._generators, strict=True):
            row.exponential_(generator=generator)
        return list(drawn.log_().neg_().to(logits.device).transpose(0, 1).contiguous().flip(0))


def keep_top(logits: Float[Tensor, "batch vocabulary"], count: int) -> Float[Tensor, "batch vocabulary"]:
    """Return the logits with −∞ for all but the `count` largest of each row; equals of the last one stay too.

    Example:
        >>> keep_top(torch.tensor([[3.0, 1.0, 2.0]]), 2).tolist()
        [[3.0, -inf, 2.0]]
    """
    least = logits.topk(count).values[:, -1:]
    return logits.masked_fill(logits < least, -torch.inf)


def keep_nucleus(logits: Float[Tensor, "batch vocabulary"], mass: float) -> Float[Tensor, "batch vocabulary"]:
    """Return the logits with −∞ for all but the fewest likeliest tokens that together have probability `mass`.

    The likeliest token always stays.

    Example:
        >>> keep_nucleus(torch.tensor([[0.2, 0.5, 0.3]]).log(), 0.7).exp().round(decimals=1).tolist()
        [[0.0, 0.5, 0.30000001192092896]]

    Source: Holtzman et al. 2020, "The curious case of neural text degeneration", section 3.1, arXiv:1904.09751.
    """
    ordered, places = logits.sort(-1, descending=True)
    weights = ordered.softmax(-1)
    before = weights.cumsum(-1) - weights  # what the likelier ones have together
    ordered = ordered.masked_fill(before >= mass, -torch.inf)
    return torch.empty_like(logits).scatter_(-1, places, ordered)
