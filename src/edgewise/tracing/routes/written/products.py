"""Products: of two tensors, which may be scores, and of weights with values, which end the search."""

from torch import Tensor

from edgewise.tracing.routes.written.flow import Done, Flow, Rule
from edgewise.tracing.routes.written.follow import follow
from edgewise.tracing.routes.written.layout import Axes
from edgewise.tracing.routes.written.trail import Meeting, Operand, Product, Trail, version

__all__ = ["PRODUCTS"]

_LATE = "they are multiplied with values before they are divided by their sum"
_MIXED = "they are mixed by a product with a parameter"
_HEADS = 32
"""A parameter that mixes the scores of heads is no larger than this many by as many."""
_ADDED = "something is added to their product with values"


def _plain(flow: Flow, done: Done) -> Meeting | None:
    """Two tensors, multiplied."""
    return _met(flow, done.args[0], done.args[1], done.out)


def _added(flow: Flow, done: Done) -> Meeting | None:
    """β times a tensor, plus α times a product of two."""
    added, left, right = done.args[:3]
    meeting = _met(flow, left, right, done.out)
    if meeting is not None:
        return meeting._replace(trail=meeting.trail.losing(_ADDED))
    alpha, beta = done.kwargs.get("alpha", 1), done.kwargs.get("beta", 1)
    trail = flow.trail(done.out)
    if trail is not None:
        follow(flow, trail, done.out, done.out, "times", alpha)
    trail = flow.trail(done.out)
    if trail is not None and beta != 0:
        follow(flow, trail, done.out, done.out, "plus", added, beta)
    return None


def _met(flow: Flow, left: Tensor, right: Tensor, out: Tensor) -> Meeting | None:
    one, other = flow.trail(left), flow.trail(right)
    weights = [trail is not None and trail.kind in ("weights", "exp") for trail in (one, other)]
    if all(weights):
        return None  # weights of weights: nobody's values
    if not any(weights):
        _begun(flow, left, right, out)
        return None
    trail, tensor, value, turned = (one, left, right, False) if weights[0] else (other, right, left, True)
    assert trail is not None
    if trail.kind == "exp" and trail.lost:
        return None  # the power of something else, as states that decay are made of: no softmax
    if trail.kind == "exp":
        trail = trail.losing(_LATE)
    axes = None if trail.lost else flow.axes(tensor)
    if axes is not None:
        axes = _three(axes, column=turned)
    return Meeting(trail, axes, value, turned, _sizes(left, right), out)


def _begun(flow: Flow, left: Tensor, right: Tensor, out: Tensor) -> None:
    """A product that may become scores, unless it is a projection: one with a parameter."""
    ours, theirs = flow.origin(left), flow.origin(right)
    mixed, by = (left, right) if theirs.learned else (right, left)
    scores = flow.trail(mixed) if theirs.learned or ours.learned else None
    if scores is not None and not scores.lost:
        if out.numel() == mixed.numel() and by.numel() <= _HEADS**2:
            flow.note(out, scores.losing(_MIXED))  # of anything else it is a layer that begins anew
    elif out.dim() > 2 or not (ours.learned or theirs.learned):
        flow.sweep()
        operands = Operand(left, ours, version(left)), Operand(right, theirs, version(right))
        product = Product(*operands, *_sizes(left, right))
        _, sizes, parts = product.axes
        kept = slice(3 - out.dim(), 3) if out.dim() > 1 else slice(1, 2)
        flow.note(out, Trail(product), Axes(0, sizes[kept], parts[kept]))


def _sizes(left: Tensor, right: Tensor) -> tuple[int, int, int]:
    """(batch, row, column) of a product."""
    batch = left.shape[0] if left.dim() == 3 else 1
    return batch, left.shape[-2], right.shape[-1] if right.dim() > 1 else 1


def _three(axes: Axes, *, column: bool) -> Axes:
    """Three axes: a batch of one, and one column for a vector."""
    if column and len(axes.sizes) == 1:
        axes = Axes(axes.at, (*axes.sizes, 1), (*axes.parts, ()))
    return axes.led(3)


PRODUCTS: dict[str, Rule] = {"bmm": _plain, "mm": _plain, "mv": _plain, "baddbmm": _added, "addmm": _added}
