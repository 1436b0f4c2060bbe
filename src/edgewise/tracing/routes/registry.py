"""The route through transformers: most of its models ask one registry for the function that computes attention.

The question is looked through: whatever the registry answers is wrapped, and the model's choice stays as it was. The
other way, a function registered under a name of our own, changes more: the padding mask is silently dropped unless a
mask function has that name too, and models read the name themselves to decide what to do.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import wraps
from typing import Any

from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from edgewise.tracing.call import Attention
from edgewise.tracing.compiled import compiled_after_all
from edgewise.tracing.masks import Mask, aligned_at_the_start
from edgewise.tracing.routes.flex_attention import edges_of_blocks
from edgewise.tracing.routes.replacing import replaced
from edgewise.tracing.watch import Shared, missed, offer, watchers

__all__ = ["watching"]

Function = Callable[..., tuple[Tensor, Any]]


def _install(undo: ExitStack) -> None:
    library = sys.modules.get("transformers.modeling_utils")
    if library is None:
        return  # no model of it exists
    wrapped: dict[Function, Function] = {}
    ask = library.AttentionInterface.get_interface

    @wraps(ask)
    def looked_through(self: Any, attn_implementation: str | None, default: Function) -> Function:
        real = ask(self, attn_implementation, default)
        return wrapped.setdefault(real, _watched(real, attn_implementation or "eager"))

    undo.enter_context(replaced(library.AttentionInterface, "get_interface", looked_through))


watching = Shared(_install)


def _watched(real: Function, backend: str) -> Function:
    @wraps(real)
    def attention(
        module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Any]:
        def run() -> tuple[Tensor, Any]:
            with compiled_after_all() if "flex" in backend else nullcontext():
                return real(module, query, key, value, attention_mask, *args, **kwargs)

        found = watchers(query.shape[2], key.shape[2], module)
        if not found:
            return run()
        call = _described(backend, real, module, query, key, value, attention_mask, args, kwargs)
        if call.sinks is not None and call.sinks.dim() > 1:
            missed(found, f"their sinks are not one a head: they differ from query to query, {tuple(call.sinks.shape)}")
            return run()

        def out_of(answer: tuple[Tensor, Any]) -> Tensor:
            out, weights = answer
            if isinstance(weights, Tensor) and weights.dim() == 4:  # some give the logsumexp instead
                call.returned.append(lambda: weights)
            return out.transpose(1, 2)

        def back(out: Tensor) -> tuple[Tensor, Any]:
            return out.transpose(1, 2).contiguous(), call.returned[0]() if call.returned else None

        return offer(found, call, run, out_of, back)

    return attention


def _described(
    backend: str,
    real: Function,
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Attention:
    given = {**_by_name(real, args), **kwargs}
    scale, sinks = given.get("scaling"), given.get("s_aux")
    sinks = given.get("sinks", getattr(module, "sinks", None)) if sinks is None else sinks
    batch = max(query.shape[0], key.shape[0])
    return Attention(
        f"transformers: {backend}",
        *(one.expand(batch, *one.shape[1:]) for one in (query, key, value)),
        scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
        masks=_masks(backend, module, query, key, mask, given),
        soft_cap=given.get("softcap"),
        sinks=sinks if isinstance(sinks, Tensor) else None,
        dropout=float(given.get("dropout") or 0.0) if module.training or backend != "eager" else 0.0,
    )


def _masks(backend: str, module: Any, query: Tensor, key: Tensor, mask: Any, given: dict[str, Any]) -> tuple[Mask, ...]:
    rows, columns = query.shape[2], key.shape[2]
    found: list[Mask] = []
    if isinstance(mask, Tensor):
        found.append(mask[..., :columns])
    elif isinstance(mask, BlockMask):
        found.append(edges_of_blocks(mask, rows, columns))
    bias = given.get("position_bias")
    if isinstance(bias, Tensor):
        found.append(bias[..., :columns])
    if mask is None and backend != "eager" and rows > 1:
        # The eager functions know no flag: without a mask they read everything.
        said = given.get("is_causal")
        if getattr(module, "is_causal", True) if said is None else said:
            found.append(aligned_at_the_start(rows, columns, query.device))
    return tuple(found)


def _by_name(real: Function, args: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments after the mask that were given without their names."""
    code = getattr(real, "__code__", None)
    names = code.co_varnames[5 : code.co_argcount] if code else ()
    return dict(zip(names, args, strict=False))
