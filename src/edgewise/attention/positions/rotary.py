"""Rotary positions: query and key are turned by an angle that grows with their place; a score sees the distance.

The numbers of a head are taken in pairs, each pair is a point in a plane, and the plane is turned. Turning query t by t
and key s by s leaves a dot product that depends on t − s alone. Models differ in which numbers make a pair, and a model
trained with one pairing is wrong with the other, silently: both are here, by name.
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgewise.errors import ArgumentError, ShapeError

__all__ = ["Pairing", "rotary"]

Pairing = Literal["halves", "interleaved"]


def rotary(
    x: Float[Tensor, "*lead length width"],
    positions: Int[Tensor, "*places length"],
    *,
    base: float = 10000.0,
    pairing: Pairing = "halves",
) -> Float[Tensor, "*lead length width"]:
    """Queries or keys, turned by their positions; computed in float32 (float64 for float64), returned in x's dtype.

    Source: Su et al., "RoFormer", section 3.2.2, https://arxiv.org/abs/2104.09864, whose pairs are interleaved.

    Args:
        x: queries or keys, of even width.
        positions: where each stands; anything that broadcasts over x without its width.
        base: pair i of n turns by base ** (−i / n) radians from one position to the next.
        pairing: "halves" pairs number i with number i + width / 2 (Llama, Qwen as published on the hub), "interleaved"
            pairs numbers 2i and 2i + 1 (RoFormer, GPT-J, Llama as first released).

    Raises:
        ShapeError: the width is odd, or the positions do not fit.
        ArgumentError: there is no such pairing.

    Example:
        >>> rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    width = x.shape[-1]
    if width % 2:
        raise ShapeError(f"rotary needs an even width, its numbers are turned in pairs; got width={width}")
    if positions.shape[-1:] not in (x.shape[-2:-1], (1,)) or positions.dim() >= x.dim():
        raise ShapeError(
            f"positions must broadcast to {tuple(x.shape[:-1])}, one for each row of x; got {tuple(positions.shape)}"
        )
    wide = torch.promote_types(x.dtype, torch.float32)
    pairs = torch.arange(width // 2, dtype=torch.float64, device=x.device)
    # In float64 until the sine is taken: a far position's angle has no digits to spare.
    angle = positions[..., None].double() * base ** (-pairs * 2 / width)
    cos, sin = angle.cos().to(wide), angle.sin().to(wide)
    if pairing == "halves":
        first, second = x.to(wide).chunk(2, dim=-1)
        turned = torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
    elif pairing == "interleaved":
        first, second = x.to(wide).unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)
    else:
        raise ArgumentError(f'pairing must be "halves" or "interleaved"; got {pairing!r}')
    return turned.to(x.dtype)
