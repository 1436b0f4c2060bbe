"""Layers for the tests of the lab: attention by hand, with whatever is to be tried put in one place."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.meaning.declared import Declared

CHANNELS, HEADS = 16, 4


class Layer(nn.Module):
    """Attention with scores and weights changed by functions of them."""

    def __init__(
        self,
        masked: Callable[[Tensor], Tensor] = lambda scores: scores,
        normalised: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    ) -> None:
        super().__init__()
        self.masked, self.normalised = masked, normalised
        self.projected, self.out = nn.Linear(CHANNELS, 3 * CHANNELS), nn.Linear(CHANNELS, CHANNELS)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in self.projected(x).chunk(3, dim=-1)
        )
        weights = self.normalised(self.masked(query @ key.mT / 2))
        return self.out((weights @ value).transpose(1, 2).flatten(2))


def filled(number: float) -> Callable[[Tensor], Tensor]:
    """A causal mask that fills with a number."""

    def mask(scores: Tensor) -> Tensor:
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), number)

    return mask


def lab_of(target: object, declared: Declared | None = None, **told: object) -> Lab:
    declared = declared or Declared()
    return Lab(subject_of(target, declared, **told), declared)
