"""The fast path of `nn.TransformerEncoderLayer`: a whole layer in one call; see `fused` for how it is seen."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from torch import Tensor
from torch.nn import functional

from edgewise.attention import attend
from edgewise.tracing.call import Attention, Shown
from edgewise.tracing.routes.fused import Padded, as_cast_now, masks_of, merged, padded, projected
from edgewise.tracing.watch import aside, offer, watchers

__all__ = ["watched"]


def watched(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function, with the attention inside it offered to whoever watches."""

    @wraps(real)
    def transformer_encoder_layer_fwd(
        src: Tensor, *sizes_and_weights: Any, mask: Tensor | None = None, mask_type: int | None = None
    ) -> Tensor:
        layer, ends = _Layer(*sizes_and_weights[:_MANY]), list(sizes_and_weights[_MANY:])
        hidden, kind = ends + [mask, mask_type][len(ends) :]

        def run() -> Tensor:
            return real(src, *layer, hidden, kind)

        given = padded(src)
        found = watchers(given.tensor.shape[1], given.tensor.shape[1], inside="self_attn")
        if not found:
            return run()
        with aside():
            attention = layer.attention(given, hidden, kind)
        cast = as_cast_now(src)

        def after(out: Tensor, rows: Tensor | slice) -> Tensor:
            with cast():
                return layer.after(given.tensor[:, rows], out)

        def out_of(answer: Tensor) -> Tensor:
            attention.shown.append(Shown(padded(answer).tensor, given.present, after))
            return attend(**attention.arguments())

        return offer(found, attention, run, out_of, lambda out: given.back(after(out, slice(None))))

    return transformer_encoder_layer_fwd


class _Layer(NamedTuple):
    """A layer, in the order in which torch hands it over."""

    channels: int
    heads: int
    qkv: Tensor
    qkv_bias: Tensor
    mix: Tensor
    mix_bias: Tensor
    gelu: bool
    norm_first: bool
    eps: float
    one: Tensor
    one_bias: Tensor
    two: Tensor
    two_bias: Tensor
    up: Tensor
    up_bias: Tensor
    down: Tensor
    down_bias: Tensor

    def attention(self, given: Padded, mask: Tensor | None, kind: int | None) -> Attention:
        """The call that the layer makes of a batch."""
        read = self._first(given.tensor) if self.norm_first else given.tensor
        return Attention(
            "torch: TransformerEncoderLayer, fast path",
            *projected(read, self.heads, self.qkv, self.qkv_bias),
            scale=(self.channels // self.heads) ** -0.5,
            masks=masks_of(mask, kind, given),
        )

    def after(self, x: Tensor, out: Tensor) -> Tensor:
        """What the layer makes of an output of its attention, and of what it was given."""
        x = x + functional.linear(merged(out), self.mix, self.mix_bias)
        if self.norm_first:
            return x + self._fed(self._second(x))
        x = self._first(x)
        return self._second(x + self._fed(x))

    def _fed(self, x: Tensor) -> Tensor:
        inner = functional.linear(x, self.up, self.up_bias)
        inner = functional.gelu(inner) if self.gelu else functional.relu(inner)
        return functional.linear(inner, self.down, self.down_bias)

    def _first(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, (self.channels,), self.one, self.one_bias, self.eps)

    def _second(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, (self.channels,), self.two, self.two_bias, self.eps)


_MANY = len(_Layer._fields)
