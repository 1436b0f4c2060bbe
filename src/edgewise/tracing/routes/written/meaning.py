"""What the steps between two products amount to: scale, edges, bias, cap, sinks and dropout; or why they do not."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from edgewise.tracing.masks import HIDDEN, Deferred, Mask
from edgewise.tracing.routes.written.arrange import Arrangement, Unexplained, without_sinks
from edgewise.tracing.routes.written.trail import Number, Product, Step, version

__all__ = ["Meaning", "meaning"]


@dataclass
class Meaning:
    """What the steps amount to."""

    arrangement: Arrangement
    product: Product
    scale: float = 1.0
    soft_cap: float | None = None
    sinks: Tensor | None = None
    dropout: float = 0.0
    rows: list[Tensor] = field(default_factory=list[Tensor])
    """Factors of queries, (batch, heads, query, 1), each axis full or 1."""
    columns: list[Tensor] = field(default_factory=list[Tensor])
    """Factors of keys, (batch, heads, 1, key)."""
    values: list[Number] = field(default_factory=list[Number])
    """Factors of values: numbers, or (batch, heads, 1, key)."""
    biases: list["Bias"] = field(default_factory=list["Bias"])
    fills: list["Fill"] = field(default_factory=list["Fill"])
    zeroed: list[Tensor] = field(default_factory=list[Tensor])
    """Where scores were multiplied with 0 or 1: these must have no edge, where it was 0."""
    emptied: list[Tensor] = field(default_factory=list[Tensor])
    """Where weights were set to 0, or multiplied with it."""
    normalised: bool = False

    @property
    def masks(self) -> tuple[Mask, ...]:
        """The masks and biases, as a call takes them."""
        return tuple(one.mask() for one in (*self.biases, *self.fills))


@dataclass
class Bias:
    """Something added to the scores: finite numbers, or an edge taken away."""

    tensor: Tensor
    factor: float = 1.0
    power: list[Tensor] = field(default_factory=list[Tensor])
    """What it was multiplied with since."""
    empties: bool = False
    """A query that it leaves without any key takes home zeros."""

    def mask(self) -> Mask:
        if self.factor == 1 and not self.power and not self.empties:
            return self.tensor
        of = (self.tensor, version(self.tensor), hash(self.factor), *self.power)
        return Deferred(of, self.now)

    def now(self) -> Tensor:
        found = self.tensor.float() * self.factor
        for one in self.power:
            found = found * one
        return found.masked_fill(found <= HIDDEN, -torch.inf) if self.empties else found


@dataclass
class Fill:
    """Scores replaced by a number that says that there is no edge."""

    where: Tensor
    """True where an edge is taken away; False there, where `inverse`."""
    inverse: bool
    value: float
    empties: bool = False

    def mask(self) -> Mask:
        if self.inverse and (self.empties or self.value == -torch.inf):
            return self.where
        number = int(self.value > -torch.inf and not self.empties)
        return Deferred((self.where, version(self.where), int(self.inverse), number), self.now)

    def hidden(self) -> Tensor:
        return ~self.where if self.inverse else self.where

    def now(self) -> Tensor:
        if self.empties or self.value == -torch.inf:
            return ~self.hidden()
        # A query of which all keys are hidden sees them alike, whatever its scores were.
        lowest = torch.finfo(torch.float32).min
        return torch.zeros(self.where.shape, device=self.where.device).masked_fill_(self.hidden(), lowest)


def meaning(arrangement: Arrangement, product: Product, steps: tuple[Step, ...]) -> Meaning:
    """What the steps amount to.

    Raises:
        Unexplained: they are not what attention does.
    """
    found = Meaning(arrangement, product)
    for at, step in enumerate(steps):
        if isinstance(step.by, Tensor) and version(step.by) != step.written:
            raise Unexplained(f"what they were combined with ({step.verb}) has been written to since")
        _STEPS[step.verb](found, step, steps[at + 1 :])
    _covered(found)
    return found


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


_STEPS: dict[str, Callable[[Meaning, Step, tuple[Step, ...]], None]] = {
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


def _covered(found: Meaning) -> None:
    """What was set to zero must have no edge.

    Raises:
        Unexplained: it has one.
    """
    if not found.zeroed and not found.emptied:
        return
    hidden = [one.hidden() for one in found.fills]
    hidden += [(one.now() if one.power or one.factor != 1 else one.tensor) <= HIDDEN for one in found.biases]
    for kept in found.zeroed:
        if not bool(_any([kept, *hidden]).all()):
            raise Unexplained("some are set to zero, which hides no key: −∞ would")
    for emptied in found.emptied:
        if not bool(_any([~emptied, *hidden]).all()):
            raise Unexplained("some weights are set to zero after the softmax: they no longer sum to 1")
    if found.emptied:
        # A query without any key takes home nothing, whatever number its scores had been given.
        for one in (*found.fills, *found.biases):
            one.empties = True


def _any(several: list[Tensor]) -> Tensor:
    found = several[0]
    for one in several[1:]:
        found = found | one
    return found
