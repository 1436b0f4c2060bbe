"""`multi_head_attention_forward`, which is what `nn.MultiheadAttention` runs when it takes no fast path.

Asked for no weights it calls `scaled_dot_product_attention`, which is seen there. Asked for weights it multiplies by
hand: then torch's own code runs with a namespace in which the two products are watched, and nothing else is different.
"""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from edgewise.tracing.call import Attention
from edgewise.tracing.watch import aside, offer, watchers

__all__ = ["watched"]


def watched(real: FunctionType) -> Callable[..., Any]:
    """The function, with the attention inside it offered to whoever watches."""
    signature = inspect.signature(real)

    @wraps(real)
    def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        settings = given.arguments
        if not settings["need_weights"] or not watchers(settings["query"].shape[0], settings["key"].shape[0]):
            return real(*args, **kwargs)
        products = _Products(settings["num_heads"], settings["dropout_p"] if settings["training"] else 0.0)
        # Whether another mode wants the call was settled when it got here.
        names = {**real.__globals__, "torch": products, "has_torch_function": lambda _: False}  # pyright: ignore[reportUnknownLambdaType]
        same = FunctionType(real.__code__, names, real.__name__, real.__defaults__, real.__closure__)
        same.__kwdefaults__ = real.__kwdefaults__
        out, weights = same(*args, **kwargs)
        if products.weights is None:
            return out, weights
        averaged = products.weights.mean(1) if settings["average_attn_weights"] else products.weights
        return out, averaged.reshape(weights.shape)

    return multi_head_attention_forward


class _Products:
    """torch, with the product of queries and keys remembered, and that of weights and values offered."""

    def __init__(self, heads: int, dropout: float) -> None:
        self._heads, self._dropout = heads, dropout
        self._scores: tuple[Tensor, Tensor, Tensor | None] | None = None
        self.weights: Tensor | None = None
        """(batch, heads, query, key), where a listener has changed the call."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def baddbmm(self, mask: Tensor, scaled: Tensor, keys: Tensor) -> Tensor:
        """The scores, with a mask added."""
        self._scores = scaled, keys, mask
        return torch.baddbmm(mask, scaled, keys)

    def bmm(self, one: Tensor, other: Tensor) -> Tensor:
        """The scores at first, then the output."""
        if self._scores is None:
            self._scores = one, other, None
            return torch.bmm(one, other)
        scaled, keys, mask = self._scores
        found = watchers(scaled.shape[1], keys.shape[2])
        if not found:
            return torch.bmm(one, other)
        scale = math.sqrt(1.0 / float(scaled.shape[-1]))
        with aside():
            # torch scales the queries first; undone, so that raw scores mean the same on every route.
            query = self._split(scaled / scale)
        attention = Attention(
            "torch: multi_head_attention_forward, weights asked for",
            *(query, self._split(keys.transpose(1, 2)), self._split(other)),
            scale=scale,
            masks=() if mask is None else (self._split(mask) if mask.shape[0] > 1 else mask[None],),
            dropout=self._dropout,
        )

        def out_of(answer: Tensor) -> Tensor:
            attention.returned.append(lambda: self._split(one))
            return self._split(answer)

        def back(out: Tensor) -> Tensor:
            self.weights = attention.returned[0]() if attention.returned else None
            return out.flatten(0, 1)

        return offer(found, attention, lambda: torch.bmm(one, other), out_of, back)

    def _split(self, tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (-1, self._heads))
