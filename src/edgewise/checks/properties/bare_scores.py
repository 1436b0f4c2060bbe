"""Scores that are multiplied with values as they are (H4): nothing between the two products shares anything out."""

from collections.abc import Sequence

import torch
from torch import Tensor

from edgewise.checks.numbers.products import Produced

__all__ = ["bare"]

HIDES = 1e4
"""Numbers beyond this hide a key."""
ALIKE = 1e-4


def bare(products: Sequence[Produced], query: int, key: int, batch: int) -> bool:
    """Return whether values are multiplied with query · key itself, scaled, masked or with a bias as it may be.

    What differs between two sequences must then be query · key of these times one number: a decay by distance, as
    retention has it, is none.
    """
    scores = [one.out for one in products if not one.learned and one.out.shape[-2:] == (query, key)]
    turned = [one.out.mT for one in products if not one.learned and one.out.shape[-2:] == (key, query)]
    for one in products:
        if one.learned:
            continue
        for weights in (one.left, one.right.transpose(-2, -1)):
            if weights.shape[-2:] == (query, key) and bool((weights < 0).any() | weights.isinf().any()):
                mine = [each for each in (*scores, *turned) if each.numel() == weights.numel()]
                if any(_made_of(weights, each, batch) for each in mine):
                    return True
    return False


def _made_of(weights: Tensor, scores: Tensor, batch: int) -> bool:
    """Whether weights are these scores times one number, beside what all sequences have in common."""
    query, key = weights.shape[-2:]
    if weights.numel() % (batch * query * key) or batch < 2:
        return False
    one, other = (each.double().reshape(batch, -1, query, key) for each in (weights, scores))
    shown = (one.isfinite() & other.isfinite() & (one.abs() < HIDES) & (other.abs() < HIDES)).all(0)
    first, second = ((each[0] - each[1])[shown] for each in (one, other))
    power = float((second * second).sum())
    if first.numel() < query or power <= 0:
        return False
    factor = float((first * second).sum()) / power
    off = float((first - factor * second).abs().max())
    return factor != 0 and off <= ALIKE * float(first.abs().max()) and bool(torch.isfinite(first).all())
