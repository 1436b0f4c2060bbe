"""Representation apart from scores: two tables where there was one, which buys room and nothing else yet."""

import math
from typing import Any

from torch import Tensor, nn

from edgewise.attention import Learned
from edgewise.derivation.claim import Claim, Measured, claim, corpus_claim
from edgewise.derivation.claims.bigram import initial_loss
from edgewise.derivation.expected import above, below, near
from edgewise.derivation.lab import Lab
from edgewise.derivation.lesson import BLOCK
from edgewise.ladder import Size, rung

__all__ = ["CLAIMS"]


@claim("split.parameters", expected={"before": 4225, "after": 4225}, kind="exact")
def parameters() -> Measured:
    """One table of 65 × 65 and the split into 65 × 32, 32 × 65 and 65 biases have as many parameters: 4225."""
    before, after = (
        sum(parameter.numel() for parameter in rung(name).build(Size(65, width=32)).parameters())
        for name in ("bigram", "split")
    )
    return {"before": before, "after": after}


@claim(
    "split.head-init",
    expected={"bound": near(0.1768, 1e-4), "largest": below(1 / math.sqrt(32)), "largest_over_bound": above(0.99)},
    kind="property",
)
def head_init() -> Measured:
    """A linear head over 32 channels starts with weights drawn evenly from ±1/√32: none beyond 0.1768."""
    model: Any = rung("split").build(Size(65, width=32))
    largest = model.predict.weight.abs().max().item()
    return {"bound": 1 / math.sqrt(32), "largest": largest, "largest_over_bound": largest * math.sqrt(32)}


@claim(
    "split.initial-loss",
    expected={"loss": near(math.log(65) + 1 / 6, 0.03), "above_guessing": below(0.25), "below_bigram": above(0.25)},
    kind="measured",
)
def starts_near_guessing() -> Measured:
    """So the split model starts at ln 65 + 1/6 = 4.34, nearly as good as guessing, and clearly below the bigram."""
    split, bigram = (sum(initial_loss(name, seed) for seed in range(20)) / 20 for name in ("split", "bigram"))
    return {"loss": split, "above_guessing": split - math.log(65), "below_bigram": bigram - split}


@corpus_claim(
    "split.no-gain", expected={"split": near(2.49, 0.05), "positions": near(2.49, 0.05)}, kind="measured", seconds=4
)
def no_gain(lab: Lab) -> Measured:
    """Neither splitting nor adding positions buys any loss without a look at the context: still about 2.49."""
    placed = lab.trained(
        "split with positions", lambda: _Placed(rung("split").build(Size(lab.shakespeare.tokenizer.size)))
    )
    return {"split": lab.rung("split").validation.mean().item(), "positions": placed.validation.mean().item()}


class _Placed(nn.Module):
    """The split rung, each token marked with its place: what a model is before anything is blended."""

    def __init__(self, split: Any) -> None:
        super().__init__()
        self.token, self.predict = split.token, split.predict
        self.position = Learned(BLOCK, split.token.weight.shape[1])

    def forward(self, tokens: Tensor) -> Tensor:
        return self.predict(self.token(tokens) + self.position(tokens.shape[-1]))


CLAIMS: tuple[Claim, ...] = (parameters, head_init, starts_near_guessing, no_gain)
