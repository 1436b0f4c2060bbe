"""The fast path of `nn.MultiheadAttention`: evaluation, no gradients, one input; see `fused` for how it is seen."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor
from torch.nn import functional

from edgewise.attention import attend, reference
from edgewise.tracing.call import Attention, Shown
from edgewise.tracing.routes.fused import as_cast_now, masks_of, merged, padded, projected
from edgewise.tracing.watch import aside, offer, watchers

__all__ = ["watched"]

Answer = tuple[Tensor, Tensor | None]


def watched(real: Callable[..., Answer]) -> Callable[..., Answer]:
    """The function, with the attention inside it offered to whoever watches."""

    @wraps(real)
    def native_multi_head_attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        embed_dim: int,
        num_head: int,
        qkv_weight: Tensor,
        qkv_bias: Tensor,
        proj_weight: Tensor,
        proj_bias: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
        average_attn_weights: bool = True,
        mask_type: int | None = None,
    ) -> Answer:
        settings: tuple[Any, ...] = (need_weights, average_attn_weights, mask_type)
        weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)

        def run() -> Answer:
            return real(query, key, value, embed_dim, num_head, *weights, mask, *settings)

        given = padded(query)
        length = given.tensor.shape[1]
        found = watchers(length, length)
        if not found:
            return run()
        with aside():
            three = projected(given.tensor, num_head, qkv_weight, qkv_bias)
        attention = Attention(
            "torch: MultiheadAttention, fast path",
            *three,
            scale=(embed_dim // num_head) ** -0.5,
            masks=masks_of(mask, mask_type, given),
        )

        def out_of(answer: Answer) -> Tensor:
            shown = padded(answer[0]).tensor
            attention.shown.append(Shown(shown, given.present, after))
            if answer[1] is not None:
                attention.returned.append(lambda: reference(**attention.arguments()).weights)
            return attend(**attention.arguments())

        cast = as_cast_now(query)

        def after(out: Tensor, rows: Tensor | slice) -> Tensor:  # noqa: ARG001 - the same for all
            with cast():
                return functional.linear(merged(out), proj_weight, proj_bias)

        def back(out: Tensor) -> Answer:
            with aside():
                weights = attention.returned[0]() if attention.returned else None
            if weights is not None and average_attn_weights:
                weights = weights.mean(1)
            return given.back(after(out, slice(None))), weights

        return offer(found, attention, run, out_of, back)

    return native_multi_head_attention
