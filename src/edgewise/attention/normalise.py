"""The two ways to turn a matrix of scores into shares, side by side, and the direction in which they are taken.

Dividing by the sum is the first idea: it gives negative weights for negative scores, and blows up where scores cancel.
Softmax is the second: exp makes every score positive first, so that the sum is never zero. "Normalise" means nothing
until somebody says who allocates to whom: `along="keys"` lets each query share itself out over the keys (its row sums
to 1, which is attention), `"queries"` makes each column sum to 1, `"all"` the whole matrix.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from edgewise.errors import ArgumentError

__all__ = ["Along", "Normaliser", "divide_by_sum", "softmax"]

Along = Literal["keys", "queries", "all"]
Normaliser = Literal["softmax", "sum"]

_AXES: dict[str, tuple[int, ...]] = {"keys": (-1,), "queries": (-2,), "all": (-2, -1)}


def divide_by_sum(
    scores: Float[Tensor, "*lead query key"],
    allowed: Bool[Tensor, "*#lead query key"] | None = None,
    along: Along = "keys",
) -> Float[Tensor, "*lead query key"]:
    """The allowed scores divided by their sum: the average, when every score is 1.

    Nothing guards against scores that cancel: [1, −1, 0] gives infinities, which is why softmax was needed. Only a sum
    over no scores at all gives zeros.

    Raises:
        ArgumentError: `along` names no direction.

    Example:
        >>> divide_by_sum(torch.tensor([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0], [3.0, 3.0, 2.0]]))[2]
        tensor([0.3750, 0.3750, 0.2500])
    """
    axes = _axes(along)
    if allowed is None:
        return scores / scores.sum(axes, keepdim=True)
    kept = scores.masked_fill(~allowed, 0)
    nobody = _throughout(~allowed, axes)
    return kept / kept.sum(axes, keepdim=True).masked_fill(nobody, 1)


def softmax(
    masked: Float[Tensor, "*lead query key"], along: Along = "keys", sinks: Float[Tensor, "*#lead 1 1"] | None = None
) -> Float[Tensor, "*lead query key"]:
    """exp(score) divided by the sum of exp(score): all positive, a higher score gets a larger share, −∞ gets exactly 0.

    `sinks` is one more score that takes part in the sum and carries nothing, so that a row may sum to less than 1. A
    row of nothing but −∞ (a query with no key) gives zeros, and passes zeros back.

    Raises:
        ArgumentError: `along` names no direction.

    Example:
        >>> softmax(torch.tensor([[0.0, 0.0, 0.0, -torch.inf]]))
        tensor([[0.3333, 0.3333, 0.3333, 0.0000]])
    """
    axes = _axes(along)
    if not masked.numel():
        return masked
    nobody = _throughout(masked == -torch.inf, axes)
    # Fill before and after: the first fill keeps NaN out of the forward pass, the second takes the weights back.
    scores = masked.masked_fill(nobody, 0)
    # Shift invariance: taking the largest score from all of them changes no weight and keeps exp from overflowing.
    largest = scores.detach().amax(axes, keepdim=True)
    if sinks is not None:
        largest = torch.maximum(largest, sinks.detach())
    grown = (scores - largest).exp()
    total = grown.sum(axes, keepdim=True)
    if sinks is not None:
        total = total + (sinks - largest).exp()
    return (grown / total).masked_fill(nobody, 0)


def _axes(along: str) -> tuple[int, ...]:
    if along not in _AXES:
        raise ArgumentError(f'along must be "keys", "queries" or "all"; got {along!r}')
    return _AXES[along]


def _throughout(truth: Tensor, axes: tuple[int, ...]) -> Tensor:
    for axis in axes:
        truth = truth.all(axis, keepdim=True)
    return truth
