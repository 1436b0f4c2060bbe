"""The route through torch's own functions, wherever they are called from and however they were imported."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from edgewise.tracing.call import Attention
from edgewise.tracing.masks import Mask, aligned_at_the_start
from edgewise.tracing.routes.replacing import replaced_everywhere
from edgewise.tracing.watch import Shared, claim, watchers

__all__ = ["watching"]


def _install(undo: ExitStack) -> None:
    name = "scaled_dot_product_attention"
    real = getattr(functional, name)
    undo.enter_context(replaced_everywhere(real, _watched(real), functional, name))


watching = Shared(_install)


def _watched(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
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
        found = [] if query.is_nested or query.dim() < 2 else watchers(query.shape[-2], key.shape[-2])
        if not found:
            return real(query, key, value, attn_mask, dropout_p, is_causal, *args, **kwargs)
        answer: list[Tensor] = []

        def original() -> Tensor:
            answer.append(real(query, key, value, attn_mask, dropout_p, is_causal, *args, **kwargs))
            answer.append(_four(answer[0]))
            return answer[1]

        attention = _described(query, key, value, attn_mask, dropout_p, is_causal, kwargs.get("scale"))
        out = claim(found, attention, original)
        return answer[0] if answer and out is answer[1] else out.reshape(*query.shape[:-1], value.shape[-1])

    return scaled_dot_product_attention


def _described(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, causal: bool, scale: float | None
) -> Attention:
    rows, columns = query.shape[-2], key.shape[-2]
    masks: list[Mask] = [] if mask is None else [_lined_up(mask, query)]
    if causal:
        masks.append(aligned_at_the_start(rows, columns, query.device))
    return Attention(
        "torch: scaled_dot_product_attention",
        *_alike(query, key, value),
        scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
        masks=tuple(masks),
        dropout=dropout,
    )


def _lined_up(mask: Tensor, query: Tensor) -> Tensor:
    """The mask with four axes, those that lead as those of the query do."""
    return _four(mask.expand(*query.shape[: query.dim() - mask.dim()], *mask.shape))


def _alike(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three with four axes each, and one batch: torch lets them broadcast."""
    lead = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    groups = max(key.shape[-3], value.shape[-3]) if key.dim() > 2 else 1
    one, other, third = (
        _four(part.expand(*lead, size, *part.shape[-2:]) if part.dim() > 2 else part)
        for part, size in ((query, query.shape[-3] if query.dim() > 2 else 1), (key, groups), (value, groups))
    )
    return one, other, third


def _four(tensor: Tensor) -> Tensor:
    """(batch, heads, query, width): one head where there are three axes, all that lead as one batch where more."""
    if tensor.dim() == 4:
        return tensor
    if tensor.dim() == 3:
        return tensor[:, None]
    return tensor[None, None] if tensor.dim() == 2 else tensor.flatten(0, -4)
