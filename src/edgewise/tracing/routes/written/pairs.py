"""Two operands: times, over, plus, minus; with numbers, masks, biases, noise, or the sum of the row."""

from typing import Any

from torch import Tensor

from edgewise.tracing.routes.written.cells import TWO
from edgewise.tracing.routes.written.flow import Done, Flow, Rule
from edgewise.tracing.routes.written.follow import follow
from edgewise.tracing.routes.written.trail import Noise, Seen, Step, Total, Trail

__all__ = ["PAIRS"]

_SMALL = 1e-3
"""So much may be added to a sum before it is divided by, to keep it from zero."""


def _pair(flow: Flow, done: Done) -> None:
    x, other = done.args[:2]
    ours, theirs = flow.seen(x), flow.seen(other)
    if ours is not None and isinstance(ours.what, Trail):
        _combined(flow, done, ours.what, x, other, theirs)
    elif theirs is not None and isinstance(theirs.what, Trail):
        _reversed(flow, done, theirs.what, x, other, ours)
    elif ours is not None and isinstance(ours.what, Total | Noise):
        if not isinstance(other, Tensor) and (isinstance(ours.what, Noise) or abs(other) <= _SMALL):
            flow.note(done.out, ours.what)
    elif done.name in ("mul", "div") and isinstance(x, Tensor) and x.dim() > 2 and x.is_floating_point():
        _scaled(flow, x, done.out, other, power=1 if done.name == "mul" else -1)


def _combined(flow: Flow, done: Done, trail: Trail, x: Tensor, other: Any, theirs: Seen | None) -> None:
    name, out = done.name, done.out
    second = None if theirs is None else theirs.what
    if isinstance(second, Noise) and name == "mul":
        follow(flow, trail, x, out, "dropout", number=1 - second.kept)
    elif isinstance(second, Total):
        _against_total(flow, name, trail, x, second, out)
    elif name in ("add", "sub"):
        alpha = done.kwargs.get("alpha", 1)
        follow(flow, trail, x, out, "plus", other, alpha if name == "add" else -alpha)
    elif isinstance(second, Trail):
        flow.note(out, trail.losing(TWO))
    elif name in ("mul", "div") and not done.kwargs:
        follow(flow, trail, x, out, "times", other, 1 if name == "mul" else -1)
    else:
        flow.note(out, trail.losing("they are subtracted from something"))


def _reversed(flow: Flow, done: Done, trail: Trail, x: Any, other: Tensor, ours: Seen | None) -> None:
    """The trail is that of the second operand."""
    name, out = done.name, done.out
    if out is x:
        flow.note(out, trail.losing("they are added in place to something else"))
    elif ours is not None and isinstance(ours.what, Noise) and name == "mul":
        follow(flow, trail, other, out, "dropout", number=1 - ours.what.kept)
    elif name == "mul":
        follow(flow, trail, other, out, "times", x)
    elif name in ("add", "sub"):
        alpha = done.kwargs.get("alpha", 1) * (1 if name == "add" else -1)
        axes = flow.axes(other)
        if alpha != 1 and axes is not None and not trail.lost:
            trail = trail.then(Step("times", axes, alpha))
        follow(flow, trail, other, out, "plus", x)
    else:
        flow.note(out, trail.losing("something else is divided by them"))


def _against_total(flow: Flow, name: str, trail: Trail, x: Tensor, total: Total, out: Tensor) -> None:
    """Exponentials over their sum, or scores less the logarithm of that."""
    if total.of is trail and name == "div" and not total.logarithm:
        follow(flow, trail, x, out, "share", number=total.axis, kind="weights")
    elif total.of is trail and name == "sub" and total.logarithm:
        follow(flow, trail, x, out, "softmax", number=total.axis, kind="log weights")
    else:
        flow.note(out, trail.losing("they are combined with a sum of others"))


def _scaled(flow: Flow, x: Tensor, out: Tensor, by: Any, *, power: int) -> None:
    """A tensor that is no score has been multiplied with a number: queries are, or keys."""
    if isinstance(by, Tensor):
        if by.dim() or by.device.type != "cpu" or by.requires_grad:
            return  # reading it would wait for the device
        by = by.item()
    if by and not isinstance(by, complex):
        before = flow.origin(x)
        flow.note(out, before._replace(factor=before.factor * float(by) ** power))


PAIRS: dict[str, Rule] = dict.fromkeys(("mul", "div", "add", "sub", "rsub"), _pair)
