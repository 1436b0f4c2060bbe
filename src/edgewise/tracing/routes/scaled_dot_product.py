"""`scaled_dot_product_attention`: all its arguments, as torch means them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from edgewise.tracing.call import Attention
from edgewise.tracing.masks import Mask, aligned_at_the_start
from edgewise.tracing.watch import offer, watchers

__all__ = ["described", "four", "watched"]


def watched(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function, with its calls offered to whoever watches."""

    @wraps(real)
    def scaled_dot_product_attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> Tensor:
        def run() -> Tensor:
            return real(query, key, value, attn_mask, dropout_p, is_causal, *args, **kwargs)

        found = [] if query.is_nested or query.dim() < 2 else watchers(query.shape[-2], key.shape[-2])
        if not found:
            return run()
        attention = described(
            "torch: scaled_dot_product_attention",
            *(query, key, value),
            mask=attn_mask,
            dropout=dropout_p,
            causal=is_causal,
            scale=kwargs.get("scale"),
        )
        return offer(found, attention, run, four, lambda out: out.reshape(*query.shape[:-1], value.shape[-1]))

    return scaled_dot_product_attention


def described(
    route: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
) -> Attention:
    """The call that the arguments of the function stand for."""
    return Attention(
        route,
        *_alike(query, key, value),
        scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
        masks=_masks(query, key, mask, causal),
        dropout=float(dropout),
    )


def _masks(query: Tensor, key: Tensor, mask: Tensor | None, causal: bool) -> tuple[Mask, ...]:
    found: list[Mask] = []
    if mask is not None:
        found.append(four(mask.expand(*query.shape[: query.dim() - mask.dim()], *mask.shape)))
    if causal:
        found.append(aligned_at_the_start(query.shape[-2], key.shape[-2], query.device))
    return tuple(found)


def _alike(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three with four axes each, and one batch: torch lets them broadcast."""
    lead = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    groups = max(key.shape[-3], value.shape[-3]) if key.dim() > 2 else 1
    sizes = (query.shape[-3] if query.dim() > 2 else 1, groups, groups)
    one, other, third = (
        four(part.expand(*lead, size, *part.shape[-2:]) if part.dim() > 2 else part)
        for part, size in zip((query, key, value), sizes, strict=True)
    )
    return one, other, third


def four(tensor: Tensor) -> Tensor:
    """(batch, heads, query, width): one head where there are three axes, all that lead as one batch where more."""
    if tensor.dim() == 4:
        return tensor
    if tensor.dim() == 3:
        return tensor[:, None]
    return tensor[None, None] if tensor.dim() == 2 else tensor.flatten(0, -4)
