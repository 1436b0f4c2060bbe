"""Softmax: −∞ for what may not be seen, then shares along the row."""

import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import above, below, near
from edgewise.graphs import causal

__all__ = ["CLAIMS", "weights_of"]


def weights_of(scores: Tensor) -> Tensor:
    """Return the causal weights that a square matrix of scores becomes: the reference with one-hot keys."""
    one_hot = torch.eye(scores.shape[-1], dtype=scores.dtype)
    return reference(scores, one_hot, one_hot, causal(), scale=1.0).weights


def _random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


@claim(
    "softmax.by-hand",
    expected={
        "exp": near([7.39, 0.37, 20.09, 0], 0.006),
        "sum": near(27.84, 0.006),
        "weights": near([0.27, 0.01, 0.72, 0], 0.006),
    },
    kind="close",
)
def by_hand() -> Measured:
    """Scores 2, −1, 3 and a future 5 set to −∞: exp, its sum 27.84, and weights 0.27, 0.01, 0.72 and 0."""
    scores = torch.tensor([2.0, -1.0, 3.0, 5.0])
    grown = scores.masked_fill(torch.tensor([False, False, False, True]), -torch.inf).exp()
    return {"exp": grown.tolist(), "sum": grown.sum().item(), "weights": weights_of(scores.repeat(4, 1))[2].tolist()}


@claim(
    "softmax.future-exactly-zero", expected={"weights": [0.0, 0.0, 0.0], "seen": near([1, 1, 1], 1e-6)}, kind="exact"
)
def future_exactly_zero() -> Measured:
    """A future key weighs exactly 0, whether its score was 5, ten thousand or 3e38, and what is seen sums to 1."""
    futures = [5.0, 1e4, 3e38]
    rows = [weights_of(torch.tensor([2.0, -1.0, 3.0, future]).repeat(4, 1))[2] for future in futures]
    return {"weights": [row[3].item() for row in rows], "seen": [row[:3].sum().item() for row in rows]}


@claim(
    "softmax.zeros-is-average",
    expected={"largest_difference": near(0.0, 1e-6), "row": near([0.3333, 0.3333, 0.3333, 0], 1e-4)},
    kind="close",
)
def zeros_is_average() -> Measured:
    """With every score 0 softmax gives back the even average: the product of before is softmax at zero."""
    even = torch.ones(8, 8).tril()
    even = even / even.sum(dim=1, keepdim=True)
    weights = weights_of(torch.zeros(8, 8))
    return {"largest_difference": (weights - even).abs().max().item(), "row": weights[2, :4].tolist()}


@claim("softmax.shift-invariant", expected={"largest_change": near(0.0, 1e-6)}, kind="property")
def shift_invariant() -> Measured:
    """One number added to every score of a row changes none of its weights."""
    scores = _random(8, 8)
    moved = scores + torch.linspace(-20, 20, 8)[:, None]
    return {"largest_change": (weights_of(moved) - weights_of(scores)).abs().max().item()}


@claim(
    "softmax.monotone",
    expected={"smallest_seen": above(0), "rises_with_score": True, "row_sums": near([1.0] * 8, 1e-6)},
    kind="property",
)
def monotone() -> Measured:
    """Every key in sight gets a positive weight, a higher score a larger one, and each row sums to 1."""
    scores = _random(8, 8)
    weights = weights_of(scores)
    rises = [bool((weights[t, scores[t, : t + 1].argsort()].diff() > 0).all()) for t in range(8)]
    return {
        "smallest_seen": weights[torch.ones(8, 8).tril() == 1].min().item(),
        "rises_with_score": all(rises),
        "row_sums": weights.sum(dim=1).tolist(),
    }


@claim("softmax.row-max-gradient", expected={"largest_gradient": below(1e-12)}, kind="property")
def row_max_gradient() -> Measured:
    """Taking the largest score from a row first changes nothing, so nothing flows back to it: 0 up to rounding."""
    scores = _random(8, 8, dtype=torch.float64)
    largest = scores.amax(dim=1, keepdim=True).requires_grad_()
    grown = (scores - largest).exp()
    (grown / grown.sum(dim=1, keepdim=True)).mul(_random(8, 8, dtype=torch.float64)).sum().backward()
    assert largest.grad is not None
    return {"largest_gradient": largest.grad.abs().max().item()}


CLAIMS: tuple[Claim, ...] = (
    by_hand,
    future_exactly_zero,
    zeros_is_average,
    shift_invariant,
    monotone,
    row_max_gradient,
)
