"""What is done to each cell: masking, cap, sinks, dropout, casts and copies."""

import torch
from torch import Tensor

from edgewise.tracing.masks import HIDDEN
from edgewise.tracing.routes.written.flow import Done, Flow, Rule
from edgewise.tracing.routes.written.follow import follow
from edgewise.tracing.routes.written.layout import Axes
from edgewise.tracing.routes.written.trail import Noise, Origin, Step, Total, Trail, version

__all__ = ["CELLS", "TWO"]

TWO = "two products of which both depend on the queries are combined"
_JOINED = "the scores of several products are joined before their softmax"


def _copied(flow: Flow, done: Done) -> None:
    """The same numbers in another storage, or another dtype."""
    x = done.args[0]
    seen = flow.seen(x)
    if seen is None:
        if flow.origin(x).learned:
            flow.note(done.out, Origin(learned=True))
    elif isinstance(seen.what, Trail):
        follow(flow, seen.what, x, done.out, None)
    else:
        flow.note(done.out, seen.what)


def _negated(flow: Flow, done: Done) -> None:
    trail = flow.trail(done.args[0])
    if trail is not None:
        follow(flow, trail, done.args[0], done.out, "times", -1)


def _tanh(flow: Flow, done: Done) -> None:
    trail = flow.trail(done.args[0])
    if trail is not None:
        follow(flow, trail, done.args[0], done.out, "tanh")


def _filled(flow: Flow, done: Done) -> None:
    x, where, value = done.args
    trail = flow.trail(x)
    if trail is not None:
        follow(flow, trail, x, done.out, "fill", where, 1, value)


def _chosen(flow: Flow, done: Done) -> None:
    """Where: one of the two."""
    if len(done.args) < 3 or flow.empty:
        return
    where, one, other = done.args
    ours, theirs = flow.trail(one), flow.trail(other)
    if ours is not None and theirs is not None:
        flow.note(done.out, ours.losing(TWO))
    elif ours is not None:
        follow(flow, ours, one, done.out, "fill", where, 0, other)
    elif theirs is not None:
        follow(flow, theirs, other, done.out, "fill", where, 1, one)


def _put(flow: Flow, done: Done) -> None:
    """x[mask] = number."""
    x, places, value = done.args[:3]
    trail = flow.trail(x)
    if trail is None:
        return
    masks = [(at, one) for at, one in enumerate(places) if one is not None]
    adds = len(done.args) > 3 and done.args[3]
    if len(masks) == 1 and masks[0][1].dtype == torch.bool and value.numel() == 1 and not adds:
        at, mask = masks[0]
        shape = (*(1,) * at, *mask.shape, *(1,) * (x.dim() - at - mask.dim()))
        follow(flow, trail, x, done.out, "fill", mask.reshape(shape), 1, value)
    else:
        flow.note(done.out, trail.losing("single cells are written into"))


def _triangle(flow: Flow, done: Done) -> None:
    """Zeros above or below a diagonal."""
    trail = flow.trail(done.args[0])
    if trail is not None:
        ones = torch.ones(done.out.shape[-2:], dtype=torch.bool, device=done.out.device)
        cut = torch.tril if done.name == "tril" else torch.triu
        follow(flow, trail, done.args[0], done.out, "times", cut(ones, *done.args[1:]))


def _joined(flow: Flow, done: Done) -> None:
    """One more column, before or after: a sink."""
    parts = done.args[0]
    found = [] if flow.empty else [at for at, one in enumerate(parts) if flow.trail(one) is not None]
    if not found:
        return
    at, x = found[0], parts[found[0]]
    trail, axes = flow.trail(x), flow.axes(x)
    assert trail is not None
    axis = (done.args[1] if len(done.args) > 1 else 0) % x.dim()
    sink = parts[1 - at] if len(parts) == 2 and len(found) == 1 else None
    one_more = sink is not None and sink.dim() == x.dim() and sink.shape[axis] == 1 and trail.kind == "scores"
    if axes is None or sink is None or not one_more or len(axes.parts[axis]) > 1:
        flow.note(done.out, trail.losing("they are joined with others" if len(found) == 1 else _JOINED))
        return
    ((many, step),) = axes.parts[axis] or ((1, 1),)
    wider = Axes(
        axes.at - (step if at else 0),
        (*axes.sizes[:axis], many + 1, *axes.sizes[axis + 1 :]),
        (*axes.parts[:axis], ((many + 1, step),), *axes.parts[axis + 1 :]),
    )
    follow(flow, trail.then(Step("sink", axes, sink, axis, 0.0, version(sink))), x, done.out, None, axes=wider)


def _drawn(flow: Flow, done: Done) -> None:
    """Zeros and ones."""
    if len(done.args) > 1 and isinstance(done.args[1], float):
        flow.note(done.out, Noise(done.args[1]))


def _dropped(flow: Flow, done: Done) -> None:
    """Dropout in one call: what is left, and which were."""
    x, share, drops = done.args
    trail = flow.trail(x)
    if trail is not None:
        follow(flow, trail, x, done.out[0], "dropout" if drops is None or drops else None, number=share)


def _bounded(flow: Flow, done: Done) -> None:
    """Clamped, or without NaN: followed where that has changed nothing that is not hidden."""
    x, out = done.args[0], done.out
    if flow.seen(x) is None and done.name in ("maximum", "minimum"):
        x = done.args[1]
    seen = flow.seen(x)
    if seen is not None and isinstance(seen.what, Trail):
        whole = seen.what.kind == "weights" and done.name == "nan_to_num"
        if whole or (out is not x and x.shape == out.shape and _alike(x, out)):
            follow(flow, seen.what, x, out, None)
        else:
            flow.note(out, seen.what.losing(f"they go through {done.name}"))
    elif seen is not None and isinstance(seen.what, Total):
        flow.note(out, seen.what)


def _alike(x: Tensor, out: Tensor) -> bool:
    return torch.equal(x, out) or bool(((x == out) | ((x <= HIDDEN) & (out <= HIDDEN))).all())


CELLS: dict[str, Rule] = {
    "clone": _copied,
    "_to_copy": _copied,
    "neg": _negated,
    "tanh": _tanh,
    "masked_fill": _filled,
    "where": _chosen,
    "index_put": _put,
    "tril": _triangle,
    "triu": _triangle,
    "cat": _joined,
    "bernoulli": _drawn,
    "native_dropout": _dropped,
    "clamp": _bounded,
    "clamp_min": _bounded,
    "clamp_max": _bounded,
    "maximum": _bounded,
    "minimum": _bounded,
    "nan_to_num": _bounded,
}
