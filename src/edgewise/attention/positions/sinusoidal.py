"""Sinusoidal positions: a fixed formula, nothing to train, waves from fast to slow that no two places share."""

import torch
from jaxtyping import Float
from torch import Tensor

from edgewise.errors import ArgumentError

__all__ = ["sinusoidal"]


def sinusoidal(
    length: int, channels: int, *, start: int = 0, base: float = 10000.0, device: torch.device | str | None = None
) -> Float[Tensor, "length channels"]:
    """Position vectors to be added to the token vectors: sines on even channels, cosines of the same angle on odd ones.

    Channels 2i and 2i + 1 turn by base ** (−2i / channels) radians from one position to the next.

    Source: Vaswani et al., "Attention Is All You Need", section 3.5, https://arxiv.org/abs/1706.03762.

    Args:
        length: positions wanted, at least 0.
        channels: numbers per position, as many as a token has, at least 1.
        start: the first position.
        base: how many times slower the slowest wave would be than the first.
        device: where the result lies.

    Raises:
        ArgumentError: a number is too small.

    Example:
        >>> sinusoidal(2, 4)
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if length < 0 or channels < 1:
        raise ArgumentError(f"sinusoidal needs length ≥ 0 and channels ≥ 1; got {length} and {channels}")
    # In float64: in float32 the angles of far positions lose the digits that tell neighbours apart.
    place = torch.arange(start, start + length, dtype=torch.float64, device=device)
    speed = base ** (-torch.arange(0, channels, 2, dtype=torch.float64, device=device) / channels)
    angle = place[:, None] * speed
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
    return waves[:, :channels].float()
