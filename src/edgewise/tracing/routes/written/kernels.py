"""torch's fused kernels, where they are reached by no name that can be watched: a function that an object holds.

Below autograd a kernel is seen whoever calls it. What it is given is attention in so many words; another output can be
handed back only where no gradients are wanted, since autograd takes its own view of the kernel.
"""

from typing import Any

import torch
from torch import Tensor

from edgewise.errors import TraceError
from edgewise.tracing.routes.scaled_dot_product import described, four
from edgewise.tracing.watch import offer, watchers

__all__ = ["fused", "is_fused"]


def is_fused(name: str) -> bool:
    """Whether an operation is attention in one kernel.

    Example:
        >>> is_fused("_scaled_dot_product_flash_attention_for_cpu"), is_fused("_softmax")
        (True, False)
    """
    whole = name in ("scaled_dot_product_attention", "_scaled_dot_product_fused_attention_overrideable")
    return whole or (name.startswith("_scaled_dot_product_") and name.endswith(("_attention", "_attention_for_cpu")))


def fused(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a kernel gives, offered to whoever watches."""
    given: dict[str, Any] = {one.name: value for one, value in zip(func._schema.arguments, args, strict=False)} | kwargs
    query, key, value = given["query"], given["key"], given["value"]
    found = [] if query.is_nested or query.dim() < 2 else watchers(query.shape[-2], key.shape[-2])
    if not found:
        return func(*args, **kwargs)
    attention = described(
        "torch: scaled_dot_product_attention, by another name",
        *(query, key, value),
        mask=given.get("attn_mask", given.get("attn_bias")),
        dropout=given.get("dropout_p", 0.0),
        causal=given.get("is_causal", False),
        scale=given.get("scale"),
    )
    answer: list[Any] = []

    def run() -> Any:
        answer.append(func(*args, **kwargs))
        return answer[0]

    def back(out: Tensor) -> Any:
        if torch.is_grad_enabled() and any(one.requires_grad for one in (query, key, value)):
            raise TraceError(
                "scaled_dot_product_attention is called by no name that can be watched (a function that an object "
                "holds, or scripted code), so that gradients would not follow another output; swap under "
                "torch.no_grad(), or call torch.nn.functional.scaled_dot_product_attention"
            )
        out = out.reshape(*query.shape[:-1], value.shape[-1])
        beside = answer[0] if answer else func(*args, **kwargs)
        return out if isinstance(beside, Tensor) else (out, *beside[1:])

    return offer(found, attention, run, lambda result: four(_out(result)), back)


def _out(result: Any) -> Tensor:
    return result if isinstance(result, Tensor) else result[0]
