"""Why scores are divided by √d: the variance of a dot product, and what softmax does when it is not."""

import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import above, below, near

__all__ = ["CLAIMS", "SCORES", "WIDTHS", "score_variance"]

WIDTHS = [4, 16, 64, 256]
DRAWS = 20000
SCORES = torch.tensor([0.1, -0.2, 0.3, -0.2, 0.5])


def score_variance(width: int, scale: float = 1.0, draws: int = DRAWS) -> float:
    """Return the variance of query · key × scale over independent draws of both, each number of variance 1."""
    generator = torch.Generator().manual_seed(width)
    query, key = torch.randn(2, draws, width, generator=generator)
    return ((query * key).sum(dim=1) * scale).var().item()


def _jacobian(factor: float) -> Tensor:
    """How each weight answers to each of its scores where the scores stand `factor` times as far apart."""
    weights = (SCORES * factor).softmax(dim=0)
    return weights.diag() - weights.outer(weights)


@claim("scale.variance-grows", expected={"variance": near(WIDTHS, 0.05, relative=True)}, kind="measured")
def variance_grows() -> Measured:
    """Where queries and keys have variance 1, the variance of their dot product is the width: 4, 16, 64, 256."""
    return {"variance": [score_variance(width) for width in WIDTHS]}


@claim("scale.variance-restored", expected={"variance": near([1, 1, 1, 1], 0.05)}, kind="measured")
def variance_restored() -> Measured:
    """Divided by √width the scores have variance 1 again, at every width."""
    return {"variance": [score_variance(width, width**-0.5) for width in WIDTHS]}


@claim("scale.term-variance", expected={"variance": near(1, 0.05), "from_the_moments": near(1, 0.05)}, kind="measured")
def term_variance() -> Measured:
    """One term q·k of independent numbers has variance E[q²]·E[k²] − (E[q]·E[k])² = 1·1 − 0."""
    query, key = torch.randn(2, 50 * DRAWS, generator=torch.Generator().manual_seed(0))
    moments = query.square().mean() * key.square().mean() - (query.mean() * key.mean()).square()
    return {"variance": (query * key).var().item(), "from_the_moments": moments.item()}


@claim(
    "scale.sharpening",
    expected={
        "weights": near(
            [[0.19, 0.14, 0.24, 0.14, 0.29], [0.11, 0.03, 0.25, 0.03, 0.56], [0.03, 0.00, 0.16, 0.00, 0.80]], 0.006
        )
    },
    kind="close",
)
def sharpening() -> Measured:
    """The same five scores, four and eight times as large, drive softmax from nearly even toward one-hot."""
    return {"weights": [(SCORES * factor).softmax(dim=0).tolist() for factor in (1, 4, 8)]}


@claim(
    "scale.gradient-vanishes",
    expected={"at_8_over_at_1": below(0.8), "at_64": below(1e-4)},
    kind="inequality",
)
def gradient_vanishes() -> Measured:
    """Near one-hot a change of the scores hardly moves the weights: the Jacobian of softmax falls to 0 there."""
    norms = {factor: _jacobian(factor).norm().item() for factor in (1, 4, 8, 64)}
    return {"at_8_over_at_1": norms[8] / norms[1], "at_64": norms[64], "at_1_4_8": [norms[1], norms[4], norms[8]]}


@claim(
    "scale.worst-at-initialisation",
    expected={"unscaled_over_scaled": below(0.5), "scaled": above(3), "unscaled": below(1.5)},
    kind="inequality",
)
def worst_at_initialisation() -> Measured:
    """At width 64 an untrained head without the scale spreads its rows over far fewer keys (entropy, in nats)."""
    query, key = torch.randn(2, 256, 64, 64, generator=torch.Generator().manual_seed(0))
    scaled, unscaled = (_entropy(reference(query, key, key, scale=scale).weights) for scale in (None, 1.0))
    return {"scaled": scaled, "unscaled": unscaled, "unscaled_over_scaled": unscaled / scaled}


def _entropy(weights: Tensor) -> float:
    """Mean entropy of the rows, in nats."""
    return torch.special.entr(weights).sum(dim=-1).mean().item()


CLAIMS: tuple[Claim, ...] = (
    variance_grows,
    variance_restored,
    term_variance,
    sharpening,
    gradient_vanishes,
    worst_at_initialisation,
)
