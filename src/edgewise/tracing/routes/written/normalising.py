"""From scores to weights: a softmax in one call, or by hand from exponentials, sums and logarithms."""

from edgewise.tracing.routes.written.flow import Done, Flow, Rule
from edgewise.tracing.routes.written.follow import follow
from edgewise.tracing.routes.written.trail import Total, Trail

__all__ = ["NORMALISING"]


def _exp(flow: Flow, done: Done) -> None:
    trail = flow.trail(done.args[0])
    if trail is None:
        return
    if trail.kind == "scores":
        follow(flow, trail, done.args[0], done.out, "exp", kind="exp")
    elif trail.kind == "log weights":
        follow(flow, Trail(trail.product, trail.steps, "weights", trail.lost), done.args[0], done.out, None)
    else:
        flow.note(done.out, trail.losing("they go through exp after their softmax"))


def _softmax(flow: Flow, done: Done) -> None:
    x, axis = done.args[:2]
    trail = flow.trail(x)
    if trail is not None:
        if trail.kind != "scores":
            trail = trail.losing("they go through two softmaxes")
        kind = "log weights" if done.name == "_log_softmax" else "weights"
        follow(flow, trail, x, done.out, "softmax", number=axis % max(1, x.dim()), kind=kind)


def _total(flow: Flow, done: Done) -> None:
    """A sum along one axis."""
    trail = flow.trail(done.args[0])
    if trail is None or trail.lost or len(done.args) < 2:
        return
    axes = done.args[1] if isinstance(done.args[1], list | tuple) else [done.args[1]]
    logarithm = done.name == "logsumexp"
    if len(axes) == 1 and trail.kind in (("scores",) if logarithm else ("exp", "weights")):
        flow.note(done.out, Total(trail, axes[0] % done.args[0].dim(), logarithm))


NORMALISING: dict[str, Rule] = {
    "exp": _exp,
    "_softmax": _softmax,
    "_safe_softmax": _softmax,
    "_log_softmax": _softmax,
    "sum": _total,
    "logsumexp": _total,
}
