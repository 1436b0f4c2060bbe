"""What tokens are changed to: something like them, something much larger, and among tokens that are all larger."""

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.lab.movement import Change

__all__ = ["changes_of", "louder_of"]

LARGE, LOUD = {torch.float16: 30.0}, {torch.float16: 6.0}
"""How large a changed token is, and how much all tokens are, where the dtype cannot hold 1000 and 30."""

LOUDER = (100.0, 1000.0)


def changes_of(
    given: Given, field: str, row: int, *, vocabulary: int | None, low: int, seed: int, pad: int | None = None
) -> list[list[Change]]:
    """The ways of changing each token, the usual one first.

    Args:
        given: the input.
        field: which part of it.
        row: which row of the batch.
        vocabulary: ids are below it, where tokens are ids.
        low: ids are not below it: those have a meaning of their own.
        seed: of the random numbers.
        pad: the id of padding, which none is changed to.
    """
    values = getattr(given, field)[row]
    if not values.is_floating_point():
        chance = torch.Generator().manual_seed(seed)
        most = int(vocabulary or int(values.max()) + 2)
        low = min(low, most // 2)
        other = torch.randint(1, max(2, most - low), (2, values.shape[0]), generator=chance).to(values)
        shifted = low + (values.clamp_min(low) - low + other) % (most - low)
        if pad is not None:
            spare = next((one for one in range(low, most) if one != pad), pad)
            shifted = torch.where(shifted == pad, spare, shifted)
        return [[Change(token, shifted[time, token]) for time in range(2) for token in range(values.shape[0])]]
    plain, spread, axis = _alike(given, values, seed)
    large, loud = LARGE.get(values.dtype, 1000.0) * spread, LOUD.get(values.dtype, 30.0)
    tokens = range(values.shape[axis])
    return [
        [Change(token, (plain * spread).select(axis, token)) for token in tokens],
        [Change(token, (plain * large).select(axis, token), large=True) for token in tokens],
        [Change(token, (plain * spread * loud).select(axis, token), loud) for token in tokens],
    ]


def louder_of(given: Given, field: str, row: int, tokens: list[int]) -> list[Change]:
    """Changes of some tokens among tokens that are all much larger, to yet larger ones of both signs.

    Each token once, then each again: a score that is by far the largest gets through any mask that is a mere number.
    """
    values = getattr(given, field)[row]
    plain, spread, axis = _alike(given, values, seed=len(tokens))
    factors = [(loud, loud * sign * 30) for loud in LOUDER for sign in (1, -1)]
    return [Change(one, (plain * spread * size).select(axis, one), loud) for loud, size in factors for one in tokens]


def _alike(given: Given, values: Tensor, seed: int) -> tuple[Tensor, float, int]:
    """Random values like these, how far they spread, and the axis of tokens."""
    chance = torch.Generator().manual_seed(seed)
    plain = torch.randn(values.shape, generator=chance, dtype=torch.float64).to(values) + 0.1
    return plain, float(values.float().std()) or 1.0, int(values.dim() == 3 and given.key is not None)
