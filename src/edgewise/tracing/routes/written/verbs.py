"""What one step adds to the meaning of those before it: scale, bias, edges, cap, sinks, dropout; or why it has none."""

from collections.abc import Callable

import torch
from torch import Tensor

from edgewise.tracing.masks import HIDDEN
from edgewise.tracing.routes.written.amounts import Bias, Fill, Meaning
from edgewise.tracing.routes.written.arrange import Unexplained, without_sinks
from edgewise.tracing.routes.written.trail import Number, Step

__all__ = ["VERBS"]


def _placed(found: Meaning, step: Step, tensor: Tensor) -> Tensor:
    """An operand, (batch, heads, query, key), each axis full or 1."""
    axes, here = step.axes, found.arrangement
    if tensor.dim() > len(axes.sizes):
        raise Unexplained("they are combined with a tensor of more axes")
    tensor = tensor.reshape(*(1,) * (len(axes.sizes) - tensor.dim()), *tensor.shape)
    return here.placed(tensor, without_sinks(axes, found.product), (here.batch, here.heads, here.query, here.key))


def _number(by: Number) -> float | None:
    """The number that a factor is; None where it is a tensor of several, or one that is learned."""
    if not isinstance(by, Tensor):
        return float(by)
    return float(by) if by.numel() == 1 and not by.requires_grad else None


def _times(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:
    assert step.by is not None
    by = _number(step.by)
    again = any(one.verb == "share" for one in later)
    if by is not None:
        if found.normalised and not again:
            found.values.append(by**step.number)
        elif not found.normalised:
            _scaled(found, by**step.number)
        return  # what all weights are multiplied with is divided by again
    assert isinstance(step.by, Tensor)
    factor = _placed(found, step, step.by)
    if step.number != 1:
        factor = factor.float() ** step.number
    ones = factor.dtype == torch.bool or bool(((factor == 0) | (factor == 1)).all())
    if found.normalised:
        _weights_times(found, factor, ones, again)
    elif ones and factor.shape[3] > 1:
        found.zeroed.append(factor != 0)
        for bias in found.biases:
            bias.power.append(factor)
    else:
        _scores_times(found, factor)


def _scaled(found: Meaning, by: float) -> None:
    if by <= 0 and (found.fills or found.soft_cap is not None):
        raise Unexplained("they are multiplied with a negative number after their mask")
    if found.soft_cap is None:
        found.scale *= by
    else:
        found.scale *= by
        found.soft_cap *= by
    for bias in found.biases:
        bias.factor *= by


def _scores_times(found: Meaning, factor: Tensor) -> None:
    """Scores are multiplied with numbers of their own: of queries, or of keys."""
    if found.soft_cap is not None:
        raise Unexplained("they are multiplied with a tensor after their cap")
    if factor.shape[3] == 1:
        found.rows.append(factor)
    elif factor.shape[2] == 1:
        found.columns.append(factor)
    else:
        raise Unexplained("each of them is multiplied with a number of its own")
    for bias in found.biases:
        bias.power.append(factor)


def _weights_times(found: Meaning, factor: Tensor, ones: bool, again: bool) -> None:
    if ones and (again or factor.shape[2:] != (1, 1)):
        found.emptied.append(factor == 0)
        if again:
            found.fills.append(Fill(factor != 0, True, -torch.inf))
    elif factor.shape[2] == 1 and not again:
        found.values.append(factor)
    else:
        raise Unexplained("their weights are multiplied with numbers of their own after the softmax")


def _plus(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:
    assert step.by is not None
    if found.normalised:
        raise Unexplained("something is added to their weights after the softmax")
    relative = any(one.verb in ("tanh", "sink") for one in later)
    if not isinstance(step.by, Tensor):
        if relative and step.by:
            raise Unexplained("a number is added to them before they are squeezed or joined by a sink")
        return  # a softmax takes no notice of what is added to all
    bias = _placed(found, step, step.by)
    if bias.shape[3] == 1 and found.arrangement.key and not relative:
        return  # as above: the largest of each row, most often
    found.biases.append(Bias(bias, step.number))


def _fill(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:
    assert isinstance(step.by, Tensor)
    mask = _placed(found, step, step.by if step.by.dtype == torch.bool else step.by != 0)
    value = _constant(step.value)
    inverse = step.number == 0
    if found.normalised:
        if value != 0:
            raise Unexplained(f"their weights are filled with {value:g} after the softmax")
        found.emptied.append(~mask if inverse else mask)
        if any(one.verb == "share" for one in later):
            found.fills.append(Fill(mask, inverse, -torch.inf))
    elif value <= HIDDEN:
        found.fills.append(Fill(mask, inverse, value))
    elif value == 0:
        found.zeroed.append(mask if inverse else ~mask)
        for bias in found.biases:
            bias.power.append(found.zeroed[-1])
    else:
        raise Unexplained(f"some are replaced by {value:g}, which hides no key and is no score")


def _constant(value: Number) -> float:
    if not isinstance(value, Tensor):
        return float(value)
    low, high = value.aminmax()
    if float(low) != float(high):
        raise Unexplained("some are replaced by other numbers")
    return float(low)


def _tanh(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:  # noqa: ARG001
    if found.soft_cap is not None or found.biases or found.fills or found.zeroed or found.rows or found.columns:
        raise Unexplained("they are squeezed after something else was done to them than scaling")
    found.soft_cap = 1.0


def _sink(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:  # noqa: ARG001
    assert isinstance(step.by, Tensor)
    if found.sinks is not None:
        raise Unexplained("they have several sinks")
    here, axes = found.arrangement, step.axes
    dim = int(step.number)
    sink = here.placed(step.by, axes, (here.batch, here.heads, here.query, here.key))
    if sink.shape[3] != 1 or here.within(axes.parts[dim]) != here.key:
        raise Unexplained("something is joined to them that is no sink")
    each = sink[:1, :, :1]
    if not bool((sink == each).all()):
        raise Unexplained("their sinks differ by sequence or by query")
    found.sinks = each.reshape(-1).expand(here.size(here.heads))


def _normalise(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:  # noqa: ARG001
    found.normalised = True


def _dropout(found: Meaning, step: Step, later: tuple[Step, ...]) -> None:  # noqa: ARG001
    if not found.normalised:
        raise Unexplained("some are dropped before the softmax")
    found.dropout = round(1 - (1 - found.dropout) * (1 - step.number), 12)  # 0.2 had become 1 − 0.8


VERBS: dict[str, Callable[[Meaning, Step, tuple[Step, ...]], None]] = {
    "times": _times,
    "plus": _plus,
    "fill": _fill,
    "tanh": _tanh,
    "sink": _sink,
    "exp": _normalise,
    "share": _normalise,
    "softmax": _normalise,
    "dropout": _dropout,
}
