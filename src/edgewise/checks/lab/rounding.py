"""How far rounding carries an output, measured: the same in another precision, which no fault of attention can change.

An output in float32 is compared with one in float64, and one in float64 with one in float32: the difference is the
coarser one's rounding, and in units of its precision it says how many roundings add up on the way. That number is the
model's own, whatever the precision.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from edgewise.checks.lab.movement import apart

__all__ = ["LEAST", "difference", "roundings"]

LEAST, MOST = 8.0, 4096.0
"""Roundings that are granted to any output, and no more than these to one that is far off in another precision."""

SAFETY = 6.0
"""Two sides are compared, each rounded its own way, and what was measured is one sample of many."""

Answers = Callable[[str | None], Tensor | None]


def roundings(answers: Answers, own: torch.dtype) -> float:
    """How many roundings add up in an output, by comparison with another precision; a guess where there is none.

    Args:
        answers: the output in a dtype by name, None for the target's own; None where it cannot be had.
        own: the target's dtype.
    """
    plain = answers(None)
    other = answers("float32" if own == torch.float64 else "float64")
    if plain is None or other is None or plain.shape != other.shape:
        return 64.0
    coarse = torch.float32 if own == torch.float64 else own
    size = _size(other)
    found = float(apart(plain, other).max()) if plain.numel() else 0.0
    if not math.isfinite(found) or not size:
        return 64.0
    return min(MOST, max(LEAST, found / (torch.finfo(coarse).eps * size)))


def difference(one: Tensor, other: Tensor, dtype: torch.dtype, many: float) -> float | None:
    """The largest difference between two outputs, or None where rounding explains it.

    Args:
        one: an output.
        other: one that should be equal.
        dtype: what they were computed in.
        many: roundings that add up.
    """
    if one.shape != other.shape:
        return math.inf
    if not one.numel():
        return None
    found = float(apart(one, other).max())
    if found == 0:
        return None
    bar = SAFETY * many * torch.finfo(dtype).eps * max(_size(one), _size(other))
    return None if found <= bar else found


def _size(tensor: Tensor) -> float:
    finite = tensor.detach().abs().masked_fill(~tensor.isfinite(), 0)
    return float(finite.max()) if finite.numel() else 0.0
