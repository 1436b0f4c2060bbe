"""ALiBi: no position vectors at all, a bias on the scores that falls with the distance, steeper in some heads."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from edgewise.errors import ArgumentError

__all__ = ["alibi", "slopes"]


def slopes(heads: int) -> list[float]:
    """How fast each head's bias falls: a geometric series from 2 ** (−8 / heads) down to 2 ** −8.

    For head counts that are not a power of two: the series of the next smaller power, then every other slope of the
    next larger one's, as the paper's code does it.

    Raises:
        ArgumentError: fewer than one head.

    Example:
        >>> slopes(3)
        [0.0625, 0.00390625, 0.25]
    """
    if heads < 1:
        raise ArgumentError(f"alibi needs at least 1 head; got {heads}")
    power = 2 ** math.floor(math.log2(heads))
    series = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return series + slopes(2 * power)[0::2][: heads - power] if heads > power else series


def alibi(
    heads: int, query: int, key: int, *, device: torch.device | str | None = None
) -> Float[Tensor, "heads query key"]:
    """A bias for `attend`: minus the distance from query to key, times the head's slope; aligned at the end.

    It is as large as heads × query × key. Distance counts in both directions, so that it serves graphs that look ahead.

    Source: Press, Smith, Lewis, "Train Short, Test Long", section 3, https://arxiv.org/abs/2108.12409.

    Raises:
        ArgumentError: a number is too small.

    Example:
        >>> alibi(1, 2, 3) * 256
        tensor([[[-1., -0., -1.],
                 [-2., -1., -0.]]])
    """
    if query < 0 or key < 0:
        raise ArgumentError(f"alibi needs query and key of at least 0 positions; got {query} and {key}")
    place = torch.arange(key - query, key, device=device)
    distance = (place[:, None] - torch.arange(key, device=device)).abs()
    return -torch.tensor(slopes(heads), device=device)[:, None, None] * distance
