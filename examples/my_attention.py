"""A layer to check: causal attention by hand, with a padding mask. Break a line of it and check again.

edgewise check examples/my_attention.py:build
"""

import torch
from torch import Tensor, nn

__all__ = ["Attention", "build"]


class Attention(nn.Module):
    """Causal attention in four heads.

    Args:
        channels: of the layer.
        heads: of the layer.
    """

    def __init__(self, channels: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return (batch, tokens, channels); the mask is 1 where there is a token."""
        batch, tokens, channels = x.shape
        q, k, v = (one.view(batch, tokens, self.heads, -1).transpose(1, 2) for one in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
        keep = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()
        if attention_mask is not None:
            keep = keep & attention_mask.bool()[:, None, None, :]
        weights = scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, channels))


def build() -> Attention:
    """Return the layer with random weights."""
    torch.manual_seed(0)
    return Attention()
