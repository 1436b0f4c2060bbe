"""A causal layer with learned positions: counted from the start of the row, and from the first real token."""

import torch
from torch import Tensor, nn

from edgewise.checks.property import Example

__all__ = ["broken", "right"]


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = 4
        self.places = nn.Embedding(32, 16)
        self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))

    def counted(self, mask: Tensor) -> Tensor:
        return torch.arange(mask.shape[1]).expand(mask.shape)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.places(self.counted(mask))
        q, k, v = (one(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for one in (self.q, self.k, self.v))
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        itself = torch.eye(x.shape[1], dtype=torch.bool)
        keep = (causal & mask.bool()[:, None, None, :]) | itself
        out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.o(out.transpose(1, 2).flatten(2))


class _Counting(_Layer):
    def counted(self, mask: Tensor) -> Tensor:
        return (mask.long().cumsum(-1) - 1).clamp(min=0)


def broken() -> Example:
    """The first real token of a row that is padded on the left stands where the pads end."""
    return Example(_Layer())


def right() -> Example:
    """Positions are a running count of real tokens."""
    return Example(_Counting())
