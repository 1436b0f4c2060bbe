"""Noting one step more: the cells of a product are somewhere else now, or have become something else."""

from torch import Tensor

from edgewise.tracing.routes.written.flow import Flow
from edgewise.tracing.routes.written.layout import Axes
from edgewise.tracing.routes.written.trail import Kind, Number, Step, Trail, Verb, version

__all__ = ["follow"]


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
        found = found.led(out.dim())
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
