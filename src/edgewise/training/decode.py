"""From a model and the tokens so far to the logits of the next token, one step after the other.

`Uncached` is what every model can do: run it again on the last block of tokens. `Cached` reads the weights of the GPT
rung and keeps keys and values, so that a step costs one token. Both follow the model's own rule for what no longer
fits: positions are learned, so the last `block` tokens are read as if they were the first. Every key that `Cached`
holds is then of another position than the one it was kept for, so past the block the window is computed again at each
step, its last layer for the last token alone.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from edgewise.training.choose import Chooser

__all__ = ["Cached", "Decoder", "Uncached", "generate"]


class Decoder(Protocol):
    """Logits for the token after those that it was given."""

    def read(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch vocabulary"]:
        """Begin anew with these tokens."""
        ...

    def step(self, token: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocabulary"]:
        """Go on with one more token."""
        ...


def generate(
    decoder: Decoder, prompt: Int[Tensor, "batch query"], steps: int, choose: Chooser
) -> Iterator[Int[Tensor, " batch"]]:
    """Yield the tokens that follow the prompt, one for each sequence at a time."""
    logits = decoder.read(prompt)
    for left in reversed(range(steps)):
        token = choose(logits)
        yield token
        if left:
            logits = decoder.step(token)


class Uncached:
    """Runs the whole model on the last `block` tokens at every step; the meaning of `Cached`."""

    def __init__(self, model: nn.Module, block: int) -> None:
        self._model = model
        self._block = block
        self._tokens = torch.empty(0, 0, dtype=torch.long)

    def read(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch vocabulary"]:
        """Begin anew with these tokens."""
        self._tokens = tokens[:, -self._block :]
        with torch.inference_mode():
            return self._model(self._tokens)[:, -1]

    def step(self, token: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocabulary"]:
        """Go on with one more token."""
        return self.read(torch.cat((self._tokens, token[:, None]), dim=1))


class _Block(NamedTuple):
    """The weights of one block, matrices as (in, out)."""

    attention_norm: Tensor
    qkv: Tensor
    mix: Tensor
    feed_norm: Tensor
    up: Tensor
    down: Tensor


class _Kept(NamedTuple):
    """What one block keeps: row t of `rows` is query, key and value of token t, as the fused product writes them.

    The others are views of it as attention reads them, so that nothing is copied.
    """

    rows: Float[Tensor, "block batch parts"]
    query: Float[Tensor, "batch heads block width"]
    key: Float[Tensor, "batch heads block width"]
    value: Float[Tensor, "batch heads block width"]


class Cached:
    """Runs the GPT rung on one token at a time, in as few calls of torch as there are; `heads` is that of its size."""

    def __init__(self, model: nn.Module, heads: int) -> None:
        weights = dict(model.named_parameters())
        self._heads = heads
        self._words, self._positions = weights["token.weight"], weights["position.weight"]
        self._block, self._channels = self._positions.shape
        self._norm = weights["norm.weight"]
        self._eps = cast(nn.LayerNorm, model.get_submodule("norm")).eps
        self._head = self._words.t()
        self._layers: list[_Block] = []
        while (at := f"blocks.{len(self._layers)}.") + "attention.qkv.weight" in weights:
            block = _Block(
                weights[at + "attention_norm.weight"],
                weights[at + "attention.qkv.weight"].t(),
                weights[at + "attention.mix.weight"].t(),
                weights[at + "feed_norm.weight"],
                weights[at + "feed.up.weight"].t(),
                weights[at + "feed.down.weight"].t(),
            )
            self._layers.append(block)
        self._tokens = torch.empty(0, 0, dtype=torch.long)
        self._since: list[Tensor] = []  # tokens that are not among them yet
        self._kept: list[_Kept] = []
        self._length = 0  # tokens kept

    def read(self, tokens: Int[Tensor, "batch query"]) -> Float[Tensor, "batch vocabulary"]:
        """Begin anew with these tokens."""
        self._tokens, self._since = tokens[:, -self._block :], []
        batch, self._length = self._tokens.shape
        shape = (self._block, batch, 3 * self._channels)
        with torch.inference_mode():
            buffers = [self._head.new_empty(shape) for _ in self._layers]
            self._kept = [_Kept(rows, *self._apart(rows)) for rows in buffers]
            return self._whole()

    def step(self, token: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocabulary"]:
        """Go on with one more token."""
        with torch.inference_mode():
            self._since.append(token)
            if self._length < self._block:
                self._length += 1
                return self._one(token, self._length - 1)
            if self._kept:
                self._kept = []
                # From here on many rows are multiplied at once, which is faster by matrices that lie as (in, out).
                self._layers = [_Block(*(weight.contiguous() for weight in layer)) for layer in self._layers]
            since = torch.stack(self._since, dim=1)
            self._since.clear()
            self._tokens = torch.cat((self._tokens, since), dim=1)[:, -self._block :]
            return self._whole()

    def _one(self, token: Tensor, place: int) -> Tensor:
        x = torch.embedding(self._words, token) + self._positions[place]
        for layer, kept in zip(self._layers, self._kept, strict=True):
            torch.mm(self._normed(x, layer.attention_norm), layer.qkv, out=kept.rows[place])
            out = scaled_dot_product_attention(
                kept.query.narrow(2, place, 1), kept.key.narrow(2, 0, place + 1), kept.value.narrow(2, 0, place + 1)
            )
            x.addmm_(out.view(x.shape), layer.mix)
            self._feed(x, layer)
        return torch.mm(self._normed(x, self._norm), self._head)

    def _whole(self) -> Tensor:
        """Return the logits after the tokens at hand, all computed anew, and keep the rows where there is room."""
        batch, length = self._tokens.shape
        # (query, batch, channels), as in the buffers
        x = torch.embedding(self._words, self._tokens.t()) + self._positions[:length, None]
        x = x.view(length * batch, self._channels)
        for index, layer in enumerate(self._layers):
            rows = torch.mm(self._normed(x, layer.attention_norm), layer.qkv).view(length, batch, -1)
            if self._kept:
                self._kept[index].rows[:length] = rows
            query, key, value = self._apart(rows)
            if index == len(self._layers) - 1:  # of the last layer only the last token is asked
                query, x = query[:, :, -1:], x.view(length, batch, -1)[-1]
            out = scaled_dot_product_attention(query, key, value, is_causal=query.shape[2] > 1)
            x.addmm_(out.permute(2, 0, 1, 3).reshape(x.shape), layer.mix)
            self._feed(x, layer)
        return torch.mm(self._normed(x, self._norm), self._head)

    def _feed(self, x: Tensor, layer: _Block) -> None:
        x.addmm_(gelu(torch.mm(self._normed(x, layer.feed_norm), layer.up)), layer.down)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return torch.layer_norm(x, (self._channels,), weight, None, self._eps)

    def _apart(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value as (batch, heads, query, width), views of rows (query, batch, 3 channels)."""
        length, batch, _ = rows.shape
        parts = rows.view(length, batch, 3, self._heads, -1).permute(2, 1, 3, 0, 4)
        query, key, value = parts.unbind()
        return query, key, value
