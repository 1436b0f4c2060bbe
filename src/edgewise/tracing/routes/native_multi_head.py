"""The fast path of `nn.MultiheadAttention`: evaluation, no gradients, one input; see `fused` for how it is seen."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from torch import Tensor
from torch.nn import functional

from edgewise.attention import attend, reference
from edgewise.tracing.call import Attention, Shown
from edgewise.tracing.routes.fused import Padded, as_cast_now, masks_of, merged, padded, projected
from edgewise.tracing.watch import aside, offer, watchers

__all__ = ["watched"]

Answer = tuple[Tensor, Tensor | None]


def watched(real: Callable[..., Answer]) -> Callable[..., Answer]:
    """The function, with the attention inside it offered to whoever watches."""

    @wraps(real)
    def native_multi_head_attention(*args: Any, **kwargs: Any) -> Answer:
        layer = _Layer(*args, **kwargs)
        given = padded(layer.query)
        found = watchers(given.tensor.shape[1], given.tensor.shape[1])
        if not found:
            return real(*layer)
        with aside():
            attention = layer.attention(given)
        cast = as_cast_now(layer.query)

        def after(out: Tensor, rows: Tensor | slice) -> Tensor:  # noqa: ARG001 - the same for all
            with cast():
                return functional.linear(merged(out), layer.proj_weight, layer.proj_bias)

        def out_of(answer: Answer) -> Tensor:
            attention.shown.append(Shown(padded(answer[0]).tensor, given.present, after))
            if answer[1] is not None:
                attention.returned.append(lambda: reference(**attention.arguments()).weights)
            return attend(**attention.arguments())

        def back(out: Tensor) -> Answer:
            with aside():
                weights = attention.returned[0]() if attention.returned else None
            if weights is not None and layer.average_attn_weights:
                weights = weights.mean(1)
            return given.back(after(out, slice(None))), weights

        return offer(found, attention, lambda: real(*layer), out_of, back)

    return native_multi_head_attention


class _Layer(NamedTuple):
    """What torch hands over: its own names, order and defaults."""

    query: Tensor
    key: Tensor
    value: Tensor
    embed_dim: int
    num_head: int
    qkv_weight: Tensor
    qkv_bias: Tensor
    proj_weight: Tensor
    proj_bias: Tensor
    mask: Tensor | None = None
    need_weights: bool = True
    average_attn_weights: bool = True
    mask_type: int | None = None

    def attention(self, given: Padded) -> Attention:
        """The call that the layer makes of a batch."""
        return Attention(
            "torch: MultiheadAttention, fast path",
            *projected(given.tensor, self.num_head, self.qkv_weight, self.qkv_bias),
            scale=(self.embed_dim // self.num_head) ** -0.5,
            masks=masks_of(self.mask, self.mask_type, given),
        )
