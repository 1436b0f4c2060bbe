"""GPT: the same model, made ready to train and to write.

Nothing new is looked at. One product makes query, key and value; no layer has a bias; the table that reads a token also
predicts it; weights start small, those that add to x smaller still the more blocks there are; dropout can be asked for.
And the caller may pass a cache for each block, so that writing one more token costs one more row: positions go on from
what the cache holds. It is the model that nanoGPT trains, number for number.

Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (GPT-2), 2019; nanoGPT's `model.py`
(https://github.com/karpathy/nanoGPT) with `bias=False`.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from edgewise.attention import KeyValueCache, Learned, attend
from edgewise.errors import ShapeError
from edgewise.graphs import causal
from edgewise.ladder.size import Size

__all__ = ["LanguageModel"]


class Attention(nn.Module):
    """Gathers from the past with each head, and mixes what the heads bring home."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.dropout = size.dropout
        self.qkv = nn.Linear(size.width, 3 * size.width, bias=False)
        self.mix = nn.Linear(size.width, size.width, bias=False)

    def forward(
        self, x: Float[Tensor, "batch query channels"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "batch query channels"]:
        query, key, value = (self.deal(part) for part in self.qkv(x).chunk(3, dim=-1))
        if cache is not None:
            key, value = cache.append(key, value)
        out = attend(query, key, value, causal(), dropout=self.dropout if self.training else 0.0)
        return F.dropout(self.mix(out.transpose(-3, -2).flatten(-2)), self.dropout, self.training)

    def deal(self, x: Float[Tensor, "batch query channels"]) -> Float[Tensor, "batch heads query width"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)


class FeedForward(nn.Module):
    """Works on each position alone."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.dropout = size.dropout
        self.up = nn.Linear(size.width, 4 * size.width, bias=False)
        self.down = nn.Linear(4 * size.width, size.width, bias=False)

    def forward(self, x: Float[Tensor, "batch query channels"]) -> Float[Tensor, "batch query channels"]:
        return F.dropout(self.down(F.gelu(self.up(x))), self.dropout, self.training)


class Block(nn.Module):
    """Adds what a position gathers, and what it makes of that."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(size.width, bias=False)
        self.attention = Attention(size)
        self.feed_norm = nn.LayerNorm(size.width, bias=False)
        self.feed = FeedForward(size)

    def forward(
        self, x: Float[Tensor, "batch query channels"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "batch query channels"]:
        x = x + self.attention(self.attention_norm(x), cache)
        return x + self.feed(self.feed_norm(x))


class LanguageModel(nn.Module):
    """Returns the logits of the token that follows each of `tokens`, which follow what `cache` holds.

    Raises:
        ShapeError: cache and tokens together are longer than the block; or the cache is for another number of layers.
    """

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.block = size.block
        self.dropout = size.dropout
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = Learned(size.block, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width, bias=False)
        for name, weight in self.named_parameters():
            adds_to_x = name.endswith(("mix.weight", "down.weight"))
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02 / (2 * size.layers) ** 0.5 if adds_to_x else 0.02)

    def forward(
        self, tokens: Int[Tensor, "batch query"], cache: Sequence[KeyValueCache] | None = None
    ) -> Float[Tensor, "batch query vocabulary"]:
        length, start = tokens.shape[-1], cache[0].length if cache else 0
        x = self.token(tokens) + self.position(length, start)
        x = F.dropout(x, self.dropout, self.training)
        for block, held in zip(self.blocks, self.checked(cache), strict=True):
            x = block(x, held)
        return F.linear(self.norm(x), self.token.weight)

    def new_cache(self) -> list[KeyValueCache]:
        return [KeyValueCache(capacity=self.block) for _ in self.blocks]

    def checked(self, cache: Sequence[KeyValueCache] | None) -> Sequence[KeyValueCache | None]:
        if cache is not None and len(cache) != len(self.blocks):
            raise ShapeError(f"cache must hold {len(self.blocks)} entries, one a block; got {len(cache)}: new_cache()?")
        return cache or [None] * len(self.blocks)
