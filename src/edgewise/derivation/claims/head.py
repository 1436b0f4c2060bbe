"""What comes next: the scaled head in the model, and the loss at last comes down."""

from edgewise.derivation.claim import Claim, Measured, corpus_claim
from edgewise.derivation.expected import above, below
from edgewise.derivation.lab import Lab

__all__ = ["CLAIMS"]


@corpus_claim(
    "head.loss-falls",
    expected={"validation": below(2.45), "below_bigram": above(0.05), "first_position": above(2.4)},
    kind="measured",
    seconds=4,
)
def loss_falls(lab: Lab) -> Measured:
    """One scaled head of 32 channels over a block of 8 brings the validation loss from 2.49 to about 2.4."""
    head, bigram = lab.rung("scale").validation, lab.rung("bigram").validation
    return {
        "validation": head.mean().item(),
        "below_bigram": (bigram.mean() - head.mean()).item(),
        "first_position": head[0].item(),
        "last_position": head[-1].item(),
    }


CLAIMS: tuple[Claim, ...] = (loss_falls,)
