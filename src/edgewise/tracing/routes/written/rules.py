"""Which rule an operation follows, by its name; what no rule knows and nothing shows is left alone.

A rule runs its operation exactly as it was called, and returns what it returned.
"""

from typing import Any

import torch
from torch import Tensor

from edgewise.tracing.routes.written.cells import CELLS
from edgewise.tracing.routes.written.flow import Flow, Rule
from edgewise.tracing.routes.written.products import PRODUCTS
from edgewise.tracing.routes.written.trail import Origin, Trail

__all__ = ["rule_of"]

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

# What becomes of scores and weights that go through one of these is not followed.
_ELSEWHERE = frozenset({
    *("cat", "stack", "gather", "index", "index_select", "index_put", "scatter", "scatter_add", "roll", "flip"),
    *("constant_pad_nd", "repeat", "take", "take_along_dim", "convolution", "native_layer_norm", "topk", "sort"),
})  # fmt: skip

_PRODUCTS_OF_MANY = frozenset({"matmul", "einsum", "linalg_matmul", "tensordot"})
_RESHAPED = frozenset({"reshape", "flatten", "unflatten"})


def rule_of(func: Any) -> Rule | None:
    """The rule for an operation; None where nothing needs to be noted."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return None
    name = schema.name.partition("::")[2]
    if name in ("view", "_unsafe_view"):
        return _viewed
    known = PRODUCTS.get(name) or CELLS.get(name.removesuffix("_"))
    if known is not None:
        return known
    if schema.is_mutable:
        return _written
    if any(one.alias_info is not None for one in schema.returns):
        return None  # a view: its strides say what it shows
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return _composite
    return _other


def _viewed(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A view: which batch and heads were folded into one axis, or came out of one."""
    out = func(*args, **kwargs)
    x = args[0]
    if x.dim() == 4 and out.dim() == 3 and out.shape[1] == x.shape[2]:
        _folded(flow, x, out, x.shape[0], x.shape[1])
    elif x.dim() == 3 and out.dim() == 3 and out.shape[0] == x.shape[0] and out.shape[1] > x.shape[1] > 0:
        _folded(flow, x, out, x.shape[1], out.shape[1] // x.shape[1])
    elif out.dim() == 4 and x.dim() == 3:
        trail, axes = flow.trail(out), flow.axes(out)
        if trail is not None and trail.product is not None and axes is not None:
            trail.product.seen.append(axes)
    return out


def _folded(flow: Flow, x: Tensor, out: Tensor, batch: int, heads: int) -> None:
    trail = flow.trail(x)
    if trail is None:
        if x.is_floating_point():
            flow.note(out, flow.origin(x)._replace(split=(batch, heads)))
    elif trail.product is not None and x.dim() == 4:
        axes = flow.axes(x)
        if axes is not None:
            trail.product.seen.append(axes)


def _composite(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """An operation that is made of others: only inference mode shows it whole, and there it is taken apart."""
    name = func._schema.name.partition("::")[2]
    folding = name in _RESHAPED and args[0].dim() in (3, 4)
    if name in _PRODUCTS_OF_MANY or folding or _known(flow, args):
        with flow:
            return func.decompose(*args, **kwargs)
    return func(*args, **kwargs)


def _written(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Something is written over what was known."""
    out = func(*args, **kwargs)
    for one in args:
        if isinstance(one, Tensor):
            seen = flow.seen(one)
            if seen is not None and isinstance(seen.what, Trail):
                flow.note(one, seen.what.losing(f"they are written into by {_said(func)}"))
            elif seen is not None and not isinstance(seen.what, Origin):
                flow.forget(one)
            break
    return out


def _other(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """An operation that is not known: the trail is lost where its result may still be one."""
    out = func(*args, **kwargs)
    if flow.empty:
        return out
    for one in _known(flow, args):
        trail = flow.trail(one)
        if trail is None:
            continue
        for made in out if isinstance(out, tuple | list) else (out,):
            if isinstance(made, Tensor) and made.is_floating_point():
                if made.shape == one.shape or func._schema.name.partition("::")[2] in _ELSEWHERE:
                    flow.note(made, trail.losing(f"they go through {_said(func)}"))
    return out


def _known(flow: Flow, args: Args) -> list[Tensor]:
    """The arguments of whose storage something is known."""
    if flow.empty:
        return []
    several = [one for arg in args for one in (arg if isinstance(arg, list | tuple) else (arg,))]
    return [one for one in several if isinstance(one, Tensor) and flow.seen(one) is not None]


def _said(func: Any) -> str:
    return func._schema.name.partition("::")[2]
