"""Learned positions: a table with one row for each place, trained like the token table, and nothing past its end."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from edgewise.errors import ArgumentError, ShapeError

__all__ = ["Learned"]


class Learned(nn.Module):
    """A table of position vectors, to be added to the token vectors.

    Args:
        block: positions that the table knows; text beyond must be cropped.
        channels: numbers per position, as many as a token has.

    Raises:
        ArgumentError: the table would be empty.

    Example:
        >>> Learned(block=8, channels=32)(3).shape
        torch.Size([3, 32])
    """

    def __init__(self, block: int, channels: int) -> None:
        super().__init__()
        if block < 1 or channels < 1:
            raise ArgumentError(f"a table of positions needs block ≥ 1 and channels ≥ 1; got {block} and {channels}")
        self.weight = nn.Parameter(torch.empty(block, channels))
        nn.init.normal_(self.weight)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "length channels"]:
        """The rows of positions `start` to `start + length − 1`.

        Raises:
            ShapeError: the table ends before them.
        """
        block = self.weight.shape[0]
        if start < 0 or length < 0 or start + length > block:
            raise ShapeError(
                f"positions must be within the table's block={block}; got {start} to {start + length - 1}: "
                f"crop to the last {block} tokens"
            )
        return self.weight[start : start + length]
