"""Learned positions, until the attention room has them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from edgewise.errors import ShapeError

__all__ = ["Learned"]


class Learned(nn.Module):
    """A table with one row for each position of a block."""

    def __init__(self, block: int, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(block, channels))

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "length channels"]:
        """Return the rows of positions start … start + length − 1."""
        block = self.weight.shape[0]
        if start + length > block:
            raise ShapeError(
                f"learned positions reach a block of {block} tokens; got a length of {start + length}; "
                f"crop to the last {block} tokens"
            )
        return self.weight[start : start + length]
