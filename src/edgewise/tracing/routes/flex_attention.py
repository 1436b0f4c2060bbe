"""`flex_attention`: its block mask as edges, its score function as a soft cap and a bias where it is one."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_mask

from edgewise.errors import TraceError
from edgewise.tracing.call import Attention
from edgewise.tracing.compiled import compiled_after_all
from edgewise.tracing.masks import Deferred, Mask
from edgewise.tracing.watch import aside, offer, watchers

__all__ = ["edges_of_blocks", "watched"]

Score = Callable[..., Tensor]


def watched(real: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its calls offered to whoever watches."""

    @wraps(real)
    def flex_attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: Score | None = None,
        block_mask: BlockMask | None = None,
        scale: float | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if torch.compiler.is_dynamo_compiling():
            # Somebody compiles what stands under the name while it is ours, for good.
            return real(query, key, value, score_mod, block_mask, scale, *args, **kwargs)

        def run() -> Any:
            with compiled_after_all():
                return real(query, key, value, score_mod, block_mask, scale, *args, **kwargs)

        found = watchers(query.shape[-2], key.shape[-2])
        if not found:
            return run()
        with aside():
            soft_cap, bias = _score(score_mod, query, key)
        masks: list[Mask] = [] if bias is None else [bias]
        if block_mask is not None:
            masks.append(edges_of_blocks(block_mask, query.shape[-2], key.shape[-2]))
        attention = Attention(
            "torch: flex_attention",
            *(part.expand(query.shape[0], *part.shape[1:]) for part in (query, key, value)),
            scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
            masks=tuple(masks),
            soft_cap=soft_cap,
        )
        extra = bool(kwargs.get("return_lse") or kwargs.get("return_aux") or (len(args) > 1 and args[1]))
        return offer(found, attention, run, lambda answer: answer[0] if extra else answer, _refuse if extra else _same)

    return flex_attention


def edges_of_blocks(blocks: BlockMask, query: int, key: int) -> Deferred:
    """The edges that a block mask stands for, worked out when they are asked for."""
    batch, heads = blocks.shape[:2]
    device = str(blocks.kv_indices.device)
    return Deferred((blocks,), lambda: create_mask(blocks.mask_mod, batch, heads, query, key, device))


def _score(change: Score | None, query: Tensor, key: Tensor) -> tuple[float | None, Tensor | None]:
    """The soft cap and the bias that a function of scores amounts to.

    Raises:
        TraceError: it is no such function.
    """
    if change is None:
        return None, None
    batch, heads, rows, _ = query.shape
    places = [torch.arange(size, device=query.device) for size in (batch, heads, rows, key.shape[-2])]

    def at(score: float) -> Tensor:
        found: Any = change
        for axis in range(4):
            own = [None, *(0 if other == 3 - axis else None for other in range(4))]
            found = torch.vmap(found, in_dims=tuple(own), out_dims=0)
        return found(torch.tensor(score, device=query.device, dtype=torch.float64), *places)

    nothing, some, much = at(0.0), at(1.5), at(1e30)
    edges = nothing > -torch.inf
    bias = nothing.float() if bool(nothing.any()) else None
    if torch.allclose((some - nothing)[edges], some.new_full((), 1.5), atol=1e-5):
        return None, bias
    cap = (much - nothing)[edges]
    largest = float(cap.max()) if cap.numel() else 0.0
    if 0 < largest < 1e20 and torch.allclose(cap, cap.new_full((), largest), rtol=1e-4):
        squeezed = largest * math.tanh(1.5 / largest)
        if torch.allclose((some - nothing)[edges], some.new_full((), squeezed), atol=1e-5):
            return largest, bias
    raise TraceError(
        "flex_attention's score_mod must add to the score, or cap it by c · tanh(score / c) and then add, to be "
        "captured; this one does something else: leave its sites out with sites="
    )


def _same(out: Tensor) -> Tensor:
    return out


def _refuse(out: Tensor) -> Tensor:  # noqa: ARG001 - called as `_same` is
    raise TraceError(
        "flex_attention was asked for the logsumexp as well, which another output would not match; "
        "call it without return_lse and return_aux"
    )
