"""Which rule an operation follows, by its name; what no rule knows and nothing shows is left alone."""

from typing import Any

import torch
from torch import Tensor

from edgewise.tracing.routes.written.cells import CELLS
from edgewise.tracing.routes.written.flow import Done, Flow, Known, Rule
from edgewise.tracing.routes.written.kernels import fused, is_fused
from edgewise.tracing.routes.written.normalising import NORMALISING
from edgewise.tracing.routes.written.pairs import PAIRS
from edgewise.tracing.routes.written.products import PRODUCTS
from edgewise.tracing.routes.written.trail import Origin, Trail

__all__ = ["known"]

_RULES: dict[str, Rule] = {**PRODUCTS, **PAIRS, **CELLS, **NORMALISING}

# What becomes of scores and weights that go through one of these, in another shape, is not followed.
_ELSEWHERE = frozenset({
    *("stack", "gather", "index", "index_select", "index_put", "scatter", "scatter_add", "roll", "flip", "topk"),
    *("constant_pad_nd", "repeat", "take", "take_along_dim", "convolution", "sort"),
})  # fmt: skip
# What has gone through one of these is no score any more.
_NO_SCORE = frozenset({"native_layer_norm", "native_group_norm", "native_batch_norm", "_fused_rms_norm", "gelu"})
_PRODUCTS_OF_MANY = frozenset({"matmul", "einsum", "linalg_matmul", "tensordot"})
_RESHAPED = frozenset({"reshape", "flatten", "unflatten"})


def known(func: Any) -> Known:
    """What to do about an operation."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return Known(str(func), None, None)  # of higher order
    full = schema.name.partition("::")[2]
    name = full.rstrip("_") or full
    if is_fused(name):
        return Known(name, None, None, fused)
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return Known(name, None, _apart(name))
    if name in ("view", "_unsafe_view"):
        return Known(name, _viewed, None)
    if name in _RULES:
        return Known(name, _RULES[name], None)
    if schema.is_mutable:
        return Known(name, _written, None)
    if name.endswith("_like") or name.startswith("new_") or name in _NO_SCORE:
        return Known(name, None, None)
    # Where something is returned that was given, it is a view: its strides say what it shows.
    view = any(one.alias_info is not None for one in schema.returns)
    return Known(name, None if view else _other, None)


def _apart(name: str) -> Any:
    """Whether to take apart what is made of other operations; only inference mode shows it whole."""

    def apart(flow: Flow, args: tuple[Any, ...]) -> bool:
        folding = name in _RESHAPED and args[0].dim() in (3, 4)
        return name in _PRODUCTS_OF_MANY or folding or bool(_tracked(flow, args))

    return apart


def _viewed(flow: Flow, done: Done) -> None:
    """A view: which batch and heads were folded into one axis, or came out of one."""
    x, out = done.args[0], done.out
    if x.dim() == out.dim() + 1 and x.dim() in (4, 5):
        _folded(flow, x, out)
    elif x.dim() == 3 and out.dim() == 3 and out.shape[0] == x.shape[0] and out.shape[1] > x.shape[1] > 0:
        _split(flow, x, out, x.shape[1], out.shape[1] // x.shape[1])
    elif out.dim() > 3 and x.dim() == 3:
        _looked_at(flow, out)


def _folded(flow: Flow, x: Tensor, out: Tensor) -> None:
    """Two neighbouring axes have become one: batch and heads, as like as not."""
    if flow.trail(x) is not None:
        _looked_at(flow, x)
        return
    at = next((at for at, (have, had) in enumerate(zip(out.shape, x.shape, strict=False)) if have != had), None)
    at = 0 if at is None else at
    if x.shape[at + 2 :] == out.shape[at + 1 :] and at + 3 < x.dim():
        _split(flow, x, out, x.shape[at], x.shape[at + 1])


def _split(flow: Flow, x: Tensor, out: Tensor, batch: int, heads: int) -> None:
    if flow.trail(x) is None and x.is_floating_point():
        flow.note(out, flow.origin(x)._replace(split=(batch, heads)))


def _looked_at(flow: Flow, x: Tensor) -> None:
    trail, axes = flow.trail(x), flow.axes(x)
    if trail is not None and trail.product is not None and axes is not None:
        trail.product.seen.append(axes)


def _written(flow: Flow, done: Done) -> None:
    """Something is written over what was known."""
    target = done.args[0] if done.args and isinstance(done.args[0], Tensor) else None
    if target is None or flow.empty:
        return
    seen = flow.seen(target)
    others = [trail for one in _tracked(flow, done.args[1:]) if (trail := flow.trail(one)) is not None]
    if seen is not None and isinstance(seen.what, Trail):
        flow.note(target, seen.what.losing(f"they are written into by {done.name}"))
    elif others and target.is_floating_point():
        flow.note(target, others[0].losing(f"they are written into something else by {done.name}"))
    elif seen is not None and not isinstance(seen.what, Origin):
        flow.forget(target)


def _other(flow: Flow, done: Done) -> None:
    """An operation that is not known: the trail is lost where its result may still be one."""
    if flow.empty:
        return
    several = done.out if isinstance(done.out, tuple | list) else (done.out,)
    made = [one for one in several if isinstance(one, Tensor) and one.is_floating_point()]
    for one in _tracked(flow, done.args) if made else ():
        trail = flow.trail(one)
        for new in made if trail is not None else ():
            assert trail is not None
            if new.shape == one.shape or done.name in _ELSEWHERE:
                flow.note(new, trail.losing(f"they go through {done.name}"))


def _tracked(flow: Flow, args: tuple[Any, ...]) -> list[Tensor]:
    """The arguments of whose storage something is known."""
    if flow.empty:
        return []
    several = [one for arg in args for one in (arg if isinstance(arg, list | tuple) else (arg,))]
    return [one for one in several if isinstance(one, Tensor) and flow.seen(one) is not None]
