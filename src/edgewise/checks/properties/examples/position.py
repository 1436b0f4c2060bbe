"""A causal layer with learned positions: counted from the start of the row, and from the first real token."""

import torch
from torch import Tensor, nn

from edgewise.checks.properties.examples.layer import Layer, causal
from edgewise.checks.property import Example

__all__ = ["broken", "right"]


class _Placed(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Embedding(32, self.width).double()

    def counted(self, mask: Tensor) -> Tensor:
        return torch.arange(mask.shape[1]).expand(mask.shape)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = self.projected(x + self.places(self.counted(mask)))
        itself = torch.eye(x.shape[1], dtype=torch.bool)
        keep = (causal(x.shape[1]) & mask.bool()[:, None, None, :]) | itself
        return self.mixed(nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=keep))


class _Counting(_Placed):
    def counted(self, mask: Tensor) -> Tensor:
        return (mask.long().cumsum(-1) - 1).clamp(min=0)


def broken() -> Example:
    """The first real token of a row that is padded on the left stands where the pads end."""
    return Example(_Placed())


def right() -> Example:
    """Positions are a running count of real tokens."""
    return Example(_Counting())
