"""The fast path of `nn.TransformerEncoderLayer`: a whole layer in one call; see `fused` for how it is seen."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor
from torch.nn import functional

from edgewise.attention import attend
from edgewise.tracing.call import Attention, Shown
from edgewise.tracing.routes.fused import masks_of, merged, padded, projected
from edgewise.tracing.watch import aside, offer, watchers

__all__ = ["watched"]


def watched(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function, with the attention inside it offered to whoever watches."""

    @wraps(real)
    def transformer_encoder_layer_fwd(
        src: Tensor,
        embed_dim: int,
        num_heads: int,
        qkv_weight: Tensor,
        qkv_bias: Tensor,
        proj_weight: Tensor,
        proj_bias: Tensor,
        use_gelu: bool,
        norm_first: bool,
        eps: float,
        *rest: Any,
        mask: Tensor | None = None,
        mask_type: int | None = None,
    ) -> Tensor:
        ends: list[Any] = [*rest[8:], *(mask, mask_type)[len(rest) - 8 :]]
        layer, (hidden, kind) = rest[:8], ends
        sizes = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps)

        def run() -> Tensor:
            return real(src, *sizes, *layer, hidden, kind)

        given = padded(src)
        length = given.tensor.shape[1]
        found = watchers(length, length, inside="self_attn")
        if not found:
            return run()
        one, one_bias, two, two_bias, up, up_bias, down, down_bias = layer

        def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            return functional.layer_norm(x, (embed_dim,), weight, bias, eps)

        def after(out: Tensor, rows: Tensor | slice) -> Tensor:
            x = given.tensor[:, rows] + functional.linear(merged(out), proj_weight, proj_bias)
            x = x if norm_first else norm(x, one, one_bias)
            inner = functional.linear(norm(x, two, two_bias) if norm_first else x, up, up_bias)
            inner = functional.gelu(inner) if use_gelu else functional.relu(inner)
            x = x + functional.linear(inner, down, down_bias)
            return x if norm_first else norm(x, two, two_bias)

        with aside():
            read = norm(given.tensor, one, one_bias) if norm_first else given.tensor
            three = projected(read, num_heads, qkv_weight, qkv_bias)
        attention = Attention(
            "torch: TransformerEncoderLayer, fast path",
            *three,
            scale=(embed_dim // num_heads) ** -0.5,
            masks=masks_of(hidden, kind, given),
        )

        def out_of(answer: Tensor) -> Tensor:
            attention.shown.append(Shown(padded(answer).tensor, given.present, after))
            return attend(**attention.arguments())

        return offer(found, attention, run, out_of, lambda out: given.back(after(out, slice(None))))

    return transformer_encoder_layer_fwd
