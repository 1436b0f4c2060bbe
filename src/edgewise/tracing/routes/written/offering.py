"""The meeting of weights and values, offered to whoever watches as one call of attention."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from edgewise.errors import TraceError
from edgewise.tracing.call import Attention
from edgewise.tracing.routes.written.amounts import Meaning
from edgewise.tracing.routes.written.arrange import Arrangement, Unexplained, arranged
from edgewise.tracing.routes.written.layout import Axes, axes_of, contiguous, laid
from edgewise.tracing.routes.written.meaning import meaning
from edgewise.tracing.routes.written.trail import Meeting, Operand, version
from edgewise.tracing.sites import Place
from edgewise.tracing.watch import Watch, aside, missed, offer, watchers

__all__ = ["offered"]


def offered(meeting: Meeting, result: Tensor, *, below: bool = False) -> Tensor:
    """What the caller of a product of weights and values gets.

    Args:
        meeting: the product.
        result: what the function that was called makes of it; mostly the product itself, in other axes.
        below: autograd has its own view of the product, and will not know of another one.
    """
    queries, keys = _lengths(meeting)
    found = watchers(queries, keys)
    if not found:
        return result
    with aside():
        return _offered(found, meeting, result, below)


def _offered(found: list[tuple[Watch, Place]], meeting: Meeting, result: Tensor, below: bool) -> Tensor:
    try:
        call = _call(meeting)
        shown = _shown(meeting, result)
        out_of, back = _ways(call, meeting, result if shown else meeting.out)
    except Unexplained as why:
        missed(found, str(why))
        return result
    run = result if shown else meeting.out

    def given_back(out: Tensor) -> Tensor:
        if not shown or (below and torch.is_grad_enabled() and _learns(meeting)):
            raise TraceError(
                "this product of weights and values is called by no name that can be watched (scripted code, or a "
                "function that an object holds), so that gradients would not follow another output; "
                "swap under torch.no_grad(), or write weights @ values"
            )
        return back(out)

    answer = offer(found, call.attention, lambda: run, out_of, given_back)
    return result if answer is run else answer


def _learns(meeting: Meeting) -> bool:
    product = meeting.trail.product
    operands = () if product is None else (product.left.tensor, product.right.tensor)
    return any(one.requires_grad for one in (meeting.value, *operands))


class _Call(NamedTuple):
    attention: Attention
    arrangement: Arrangement


def _lengths(meeting: Meeting) -> tuple[int, int]:
    trail, axes = meeting.trail, meeting.axes
    if trail.product is not None:
        return trail.product.rows, trail.product.columns
    if axes is not None:
        return axes.sizes[1], axes.sizes[2]
    return meeting.sizes[1], meeting.sizes[1]


def _call(meeting: Meeting) -> _Call:
    """The product as a call of attention.

    Raises:
        Unexplained: it is none, or it does more than attention.
    """
    trail = meeting.trail
    if trail.product is None:
        raise Unexplained(trail.lost)
    product, steps = trail.product, trail.steps
    softmax = [step for step in steps if step.verb in ("softmax", "share")][-1]
    here = arranged(product, steps, softmax, meeting)
    means = meaning(here, product, steps)
    query, key = _operands(meeting, here)
    scale = means.scale
    for factor in (product.left.origin.factor, product.right.origin.factor):
        scale *= factor
    for factor in means.rows:
        query = query * factor
    key, value = _alike(key, _value(meeting, here), means)
    attention = Attention(
        "written by hand",
        _whole_batch(here, query.expand(-1, here.size(here.heads), -1, -1)),
        _whole_batch(here, key),
        _whole_batch(here, value),
        scale=scale,
        masks=means.masks,
        soft_cap=means.soft_cap,
        sinks=means.sinks,
        dropout=means.dropout,
    )
    return _Call(attention, here)


def _operands(meeting: Meeting, here: Arrangement) -> tuple[Tensor, Tensor]:
    """Queries (batch, heads, query, width) and keys (batch, groups, key, width), before they were scaled."""
    product = meeting.trail.product
    assert product is not None
    left = _unscaled(product.left).reshape(product.batch, product.rows, -1)
    right = _unscaled(product.right)
    right = right.reshape(product.batch, -1, product.columns).transpose(1, 2)
    sides = (left, _only(product.axes, 0, 1)), (right, _only(product.axes, 0, 2))
    (query, its), (key, others) = sides if here.columns else sides[::-1]
    return (
        here.placed(query, its, (here.batch, here.heads, here.query)),
        here.placed(key, others, (here.batch, here.heads, here.key), here.heads),
    )


def _only(axes: Axes, *which: int) -> Axes:
    return Axes(axes.at, tuple(axes.sizes[at] for at in which), tuple(axes.parts[at] for at in which))


def _unscaled(operand: Operand) -> Tensor:
    if operand.written != version(operand.tensor):
        raise Unexplained("queries or keys have been written to since they were multiplied")
    factor = operand.origin.factor
    return operand.tensor if factor == 1 else operand.tensor / factor


def _value(meeting: Meeting, here: Arrangement) -> Tensor:
    axes, (batch, rows, columns) = meeting.axes, meeting.sizes
    assert axes is not None
    if meeting.turned:
        value = meeting.value.reshape(batch, rows, -1).transpose(1, 2)
        which = _only(axes, 0, 1)
    else:
        value = meeting.value.reshape(batch, -1, columns)
        which = _only(axes, 0, 2)
    return here.placed(value, which, (here.batch, here.heads, here.key), here.heads)


def _alike(key: Tensor, value: Tensor, means: Meaning) -> tuple[Tensor, Tensor]:
    """Keys and values with as many groups, and multiplied with what scores or weights were multiplied with."""
    for factor in means.columns:
        key = _grouped(key, factor.shape[1]) * factor.transpose(2, 3)
    for factor in means.values:
        if isinstance(factor, Tensor):
            value = _grouped(value, factor.shape[1]) * factor.transpose(2, 3)
        else:
            value = value * factor
    groups = max(key.shape[1], value.shape[1])
    return _grouped(key, groups), _grouped(value, groups)


def _grouped(tensor: Tensor, groups: int) -> Tensor:
    """A tensor with at least so many groups."""
    return tensor if tensor.shape[1] >= groups else tensor.repeat_interleave(groups // tensor.shape[1], 1)


def _whole_batch(here: Arrangement, tensor: Tensor) -> Tensor:
    return tensor.expand(here.size(here.batch), *tensor.shape[1:])


def _shown(meeting: Meeting, result: Any) -> bool:
    """Whether a function's result is the product in other axes, and nothing else."""
    return (
        isinstance(result, Tensor)
        and result.numel() == meeting.out.numel()
        and result.dtype == meeting.out.dtype
        and result.untyped_storage()._cdata == meeting.out.untyped_storage()._cdata
    )


def _ways(
    call: _Call, meeting: Meeting, result: Tensor
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """From a result to the output (batch, heads, query, width), and back.

    Raises:
        Unexplained: the result does not lie as a product does.
    """
    here, axes, (batch, rows, columns) = call.arrangement, meeting.axes, meeting.sizes
    assert axes is not None
    layout = laid(meeting.out, Axes.of(meeting.out.shape, contiguous(meeting.out.shape)))
    lies = axes_of(result, layout)
    if lies is None or any(len(parts) > 1 for parts in lies.parts):
        raise Unexplained("their product with the values is taken apart")
    order = sorted(range(result.dim()), key=lambda axis: -max((step for _, step in lies.parts[axis]), default=0))
    sizes = [result.shape[axis] for axis in order]
    which = _only(axes, 0, 2 if meeting.turned else 1)
    groups = (here.batch, here.heads, here.query)

    def out_of(tensor: Tensor) -> Tensor:
        product = tensor.permute(order).reshape(batch, rows, columns)
        return here.placed(product.transpose(1, 2) if meeting.turned else product, which, groups)

    def back(out: Tensor) -> Tensor:
        product = here.unplaced(out, which, groups)
        product = product.transpose(1, 2) if meeting.turned else product
        return product.reshape(sizes).permute([order.index(axis) for axis in range(len(order))])

    return out_of, back
