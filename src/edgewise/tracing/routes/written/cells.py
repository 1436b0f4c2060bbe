"""What is done to each cell: scaling, masking, bias, cap, softmax in one call or by hand, dropout, casts and copies."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from edgewise.tracing.routes.written.flow import Flow, Rule
from edgewise.tracing.routes.written.layout import Axes
from edgewise.tracing.routes.written.trail import Kind, Noise, Number, Origin, Step, Total, Trail, Verb, version

__all__ = ["CELLS", "follow"]

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_TWO = "two products of which both depend on the queries are combined"
_SMALL = 1e-3
"""So much may be added to a sum before it is divided by, to keep it from zero."""


def follow(
    flow: Flow,
    trail: Trail,
    x: Tensor,
    out: Tensor,
    verb: Verb | None,
    by: Number | None = None,
    number: float = 1.0,
    value: Number = 0.0,
    kind: Kind | None = None,
    *,
    axes: Axes | None = None,
) -> None:
    """Note that `out` is what a step has made of `x`; without a verb, nothing.

    Args:
        flow: where it is noted.
        trail: what is known of x.
        x: before.
        out: after; may be x.
        verb: what was done.
        by: with which tensor or number.
        number: see `Step`.
        value: see `Step`.
        kind: what it has become.
        axes: of out, where they are not those of x.
    """
    found = flow.axes(x) if axes is None else axes
    if found is not None and len(found.sizes) < out.dim():
        more = out.dim() - len(found.sizes)
        found = Axes(found.at, (*(1,) * more, *found.sizes), (*(0,) * more, *found.steps))
    if trail.lost or found is None:
        flow.note(out, trail.losing("their cells are taken apart", kind))
    elif found.sizes != tuple(out.shape):
        flow.note(out, trail.losing("one product is spread over several heads", kind))
    elif out is x and not flow.whole(x):
        flow.note(out, trail.losing("only a part of them is written into", kind))
    elif verb is None:
        flow.note(out, trail, found)
    else:
        written = version(by) if isinstance(by, Tensor) else 0
        flow.note(out, trail.then(Step(verb, found, by, number, value, written), kind), found)


def _pair(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Two operands: times, over, plus, minus."""
    name = func._schema.name.partition("::")[2].removesuffix("_")
    x, other = args[:2] if name != "rsub" else (args[1], args[0])
    ours, theirs = flow.seen(x), flow.seen(other)
    trails = [seen.what if seen is not None and isinstance(seen.what, Trail) else None for seen in (ours, theirs)]
    what = ours.what if ours is not None else None
    out = func(*args, **kwargs)
    if trails[0] is not None:
        second = None if theirs is None else theirs.what
        _combined(flow, name, trails[0], x, other, second, out, kwargs)
    elif trails[1] is not None:
        _reversed(flow, name, trails[1], x, other, what, out, kwargs)
    elif isinstance(what, Total | Noise):
        if name in ("add", "mul", "div") and not isinstance(other, Tensor):
            small = isinstance(what, Noise) or (name == "add" and abs(other) <= _SMALL)
            if small:
                flow.note(out, what)
    elif name in ("mul", "div") and not isinstance(other, Tensor) and x.dim() > 2 and x.is_floating_point():
        _scaled(flow, x, out, other if name == "mul" else 1 / other if other else 0)
    return out


def _combined(
    flow: Flow, name: str, trail: Trail, x: Tensor, other: Any, second: Any, out: Tensor, kwargs: Kwargs
) -> None:
    if isinstance(second, Noise) and name == "mul":
        follow(flow, trail, x, out, "dropout", number=1 - second.kept)
    elif isinstance(second, Total):
        _against_total(flow, name, trail, x, second, out)
    elif name in ("mul", "div") and "rounding_mode" not in kwargs:
        if isinstance(second, Trail):
            flow.note(out, trail.losing(_TWO))
        else:
            follow(flow, trail, x, out, "times", other, 1 if name == "mul" else -1)
    elif name in ("add", "sub"):
        alpha = kwargs.get("alpha", 1)
        follow(flow, trail, x, out, "plus", other, alpha if name == "add" else -alpha)
    elif name == "rsub":
        flow.note(out, trail.losing("they are subtracted from something"))
    else:
        flow.note(out, trail.losing(f"they go through {name}"))


def _reversed(
    flow: Flow, name: str, trail: Trail, x: Any, other: Tensor, first: Any, out: Tensor, kwargs: Kwargs
) -> None:
    """The trail is that of the second operand."""
    if out is x:
        flow.note(out, trail.losing("they are added in place to something else"))
    elif isinstance(first, Noise) and name == "mul":
        follow(flow, trail, other, out, "dropout", number=1 - first.kept)
    elif name == "mul":
        follow(flow, trail, other, out, "times", x)
    elif name in ("add", "sub"):
        alpha = kwargs.get("alpha", 1) * (1 if name == "add" else -1)
        axes = flow.axes(other)
        if alpha != 1 and axes is not None and not trail.lost:
            trail = trail.then(Step("times", axes, alpha))
        follow(flow, trail, other, out, "plus", x)
    else:
        flow.note(out, trail.losing(f"they go through {name} of something else"))


def _against_total(flow: Flow, name: str, trail: Trail, x: Tensor, total: Total, out: Tensor) -> None:
    """Exponentials over their sum, or scores less the logarithm of that."""
    if total.of is trail and name == "div" and not total.logarithm:
        follow(flow, trail, x, out, "share", number=total.axis, kind="weights")
    elif total.of is trail and name == "sub" and total.logarithm:
        follow(flow, trail, x, out, "softmax", number=total.axis, kind="log weights")
    else:
        flow.note(out, trail.losing("they are combined with a sum of others"))


def _scaled(flow: Flow, x: Tensor, out: Tensor, by: float) -> None:
    """A tensor that is no score has been multiplied with a number: queries are, or keys."""
    if by:
        before = flow.origin(x)
        flow.note(out, before._replace(factor=before.factor * by))


def _one(verb: Verb | None, kind: Kind | None = None) -> Rule:
    """A rule for an operation of one operand."""

    def rule(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
        trail = flow.trail(args[0])
        out = func(*args, **kwargs)
        if trail is not None:
            follow(flow, trail, args[0], out, verb, kind=kind)
        return out

    return rule


def _copied(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """The same numbers in another storage, or another dtype."""
    out = func(*args, **kwargs)
    seen = flow.seen(args[0])
    if seen is not None:
        if isinstance(seen.what, Trail):
            follow(flow, seen.what, args[0], out, None)
        else:
            flow.note(out, seen.what)
    elif flow.origin(args[0]).learned:
        flow.note(out, Origin(learned=True))
    return out


def _negated(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    trail = flow.trail(args[0])
    out = func(*args, **kwargs)
    if trail is not None:
        follow(flow, trail, args[0], out, "times", -1)
    return out


def _exp(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    trail = flow.trail(args[0])
    out = func(*args, **kwargs)
    if trail is not None:
        if trail.kind == "log weights":
            follow(flow, trail, args[0], out, None)
            found = flow.axes(out)
            if found is not None and not trail.lost:
                flow.note(out, Trail(trail.product, trail.steps, "weights"), found)
        elif trail.kind == "scores":
            follow(flow, trail, args[0], out, "exp", kind="exp")
        else:
            flow.note(out, trail.losing("they go through exp after their softmax"))
    return out


def _softmax(kind: Kind) -> Rule:
    def rule(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
        trail = flow.trail(args[0])
        out = func(*args, **kwargs)
        if trail is not None:
            if trail.kind != "scores":
                trail = trail.losing("they go through two softmaxes")
            follow(flow, trail, args[0], out, "softmax", number=args[1] % max(1, out.dim()), kind=kind)
        return out

    return rule


def _total(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A sum along one axis."""
    out = func(*args, **kwargs)
    trail = flow.trail(args[0])
    if trail is not None and not trail.lost and len(args) > 1:
        axes = args[1] if isinstance(args[1], list | tuple) else [args[1]]
        logarithm = func._schema.name == "aten::logsumexp"
        if len(axes) == 1 and trail.kind == ("scores" if logarithm else trail.kind) and trail.kind != "log weights":
            if logarithm or trail.kind in ("exp", "weights"):
                flow.note(out, Total(trail, axes[0] % args[0].dim(), logarithm))
    return out


def _filled(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """masked_fill."""
    trail = flow.trail(args[0])
    out = func(*args, **kwargs)
    if trail is not None:
        follow(flow, trail, args[0], out, "fill", args[1], 1, args[2])
    return out


def _chosen(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Where: one of the two."""
    out = func(*args, **kwargs)
    if len(args) == 3 and not flow.empty:
        here, one, other = args
        ours, theirs = flow.trail(one), flow.trail(other)
        if ours is not None and theirs is not None:
            flow.note(out, ours.losing(_TWO))
        elif ours is not None:
            follow(flow, ours, one, out, "fill", here, 0, other)
        elif theirs is not None:
            follow(flow, theirs, other, out, "fill", here, 1, one)
    return out


def _put(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """x[mask] = number."""
    x, places, value = args[:3]
    trail = flow.trail(x)
    out = func(*args, **kwargs)
    if trail is None:
        return out
    masks = [(at, one) for at, one in enumerate(places) if one is not None]
    if len(masks) == 1 and masks[0][1].dtype == torch.bool and value.numel() == 1 and not (len(args) > 3 and args[3]):
        at, mask = masks[0]
        shape = (*(1,) * at, *mask.shape, *(1,) * (x.dim() - at - mask.dim()))
        follow(flow, trail, x, out, "fill", mask.reshape(shape), 1, value)
    else:
        flow.note(out, trail.losing("single cells are written into"))
    return out


def _triangle(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Zeros above or below a diagonal."""
    trail = flow.trail(args[0])
    out = func(*args, **kwargs)
    if trail is not None:
        ones = torch.ones(out.shape[-2:], dtype=torch.bool, device=out.device)
        cut = torch.tril if "tril" in func._schema.name else torch.triu
        follow(flow, trail, args[0], out, "times", cut(ones, *args[1:]))
    return out


def _joined(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Another column for a sink."""
    out = func(*args, **kwargs)
    parts = args[0]
    trails = [flow.trail(one) for one in parts] if not flow.empty else []
    found = [at for at, trail in enumerate(trails) if trail is not None]
    if not found:
        return out
    at = found[0]
    trail, x = trails[at], parts[at]
    assert trail is not None
    axis = (args[1] if len(args) > 1 else 0) % x.dim()
    axes = flow.axes(x)
    sink = parts[1 - at] if len(parts) == 2 else None
    if sink is None or len(found) > 1 or sink.shape[axis] != 1 or axes is None or trail.kind != "scores":
        flow.note(out, trail.losing("they are joined with others" if len(found) == 1 else _JOINED))
        return out
    step = axes.steps[axis] or 1
    wider = Axes(
        axes.at - (step if at else 0),
        (*axes.sizes[:axis], axes.sizes[axis] + 1, *axes.sizes[axis + 1 :]),
        (*axes.steps[:axis], step, *axes.steps[axis + 1 :]),
    )
    follow(flow, trail.then(Step("sink", axes, sink, axis, 0.0, version(sink))), x, out, None, axes=wider)
    return out


_JOINED = "the scores of several products are joined before their softmax"


def _drawn(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Zeros and ones."""
    out = func(*args, **kwargs)
    if len(args) > 1 and isinstance(args[1], float):
        flow.note(out, Noise(args[1]))
    return out


def _dropped(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Dropout in one call: what is left, and which were."""
    trail = flow.trail(args[0])
    out = func(*args, **kwargs)
    if trail is not None:
        drops = args[2] is None or args[2]
        follow(flow, trail, args[0], out[0], "dropout" if drops else None, number=args[1])
    return out


def _bounded(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Clamped, or without NaN: followed where that has changed nothing."""
    seen = flow.seen(args[0])
    before = args[0].clone() if seen is not None and isinstance(seen.what, Trail) and inplace(func) else args[0]
    out = func(*args, **kwargs)
    if seen is not None and isinstance(seen.what, Trail):
        trail = seen.what
        if trail.kind == "weights" and "nan_to_num" in func._schema.name:
            follow(flow, trail, args[0], out, None)
        elif torch.equal(before, out):
            follow(flow, trail, args[0], out, None)
        else:
            flow.note(out, trail.losing("they are clamped"))
    elif seen is not None and isinstance(seen.what, Total):
        flow.note(out, seen.what)
    return out


def inplace(func: Any) -> bool:
    """Whether an operation writes into its first operand."""
    return func._schema.name.endswith("_")


_RULES: dict[Rule, tuple[str, ...]] = {
    _pair: ("mul", "div", "add", "sub", "rsub"),
    _one("tanh"): ("tanh",),
    _copied: ("clone", "_to_copy"),
    _negated: ("neg",),
    _exp: ("exp",),
    _softmax("weights"): ("_softmax", "_safe_softmax"),
    _softmax("log weights"): ("_log_softmax",),
    _total: ("sum", "logsumexp"),
    _filled: ("masked_fill",),
    _chosen: ("where",),
    _put: ("index_put",),
    _triangle: ("tril", "triu"),
    _joined: ("cat",),
    _drawn: ("bernoulli",),
    _dropped: ("native_dropout",),
    _bounded: ("clamp", "clamp_min", "clamp_max", "nan_to_num"),
}

CELLS: dict[str, Rule] = {name: rule for rule, names in _RULES.items() for name in names}
