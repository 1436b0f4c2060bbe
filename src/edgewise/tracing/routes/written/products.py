"""Products: of two tensors, which may be scores, and of weights with values, which end the search."""

from typing import Any

from torch import Tensor

from edgewise.tracing.routes.written.cells import follow
from edgewise.tracing.routes.written.flow import Flow, Rule
from edgewise.tracing.routes.written.layout import Axes
from edgewise.tracing.routes.written.trail import Meeting, Operand, Product, Trail, version

__all__ = ["PRODUCTS"]

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_LATE = "they are multiplied with values before they are divided by their sum"


def _plain(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Two tensors, multiplied."""
    out = func(*args, **kwargs)
    return _met(flow, args[0], args[1], out)


def _added(flow: Flow, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """β times a tensor, plus α times a product of two."""
    out = func(*args, **kwargs)
    added, left, right = args[:3]
    for one in (left, right):
        trail = flow.trail(one)
        if trail is not None and trail.kind in ("weights", "exp"):
            return _met(flow, left, right, out, "something is added to their product with values")
    _met(flow, left, right, out)
    trail = flow.trail(out)
    if trail is not None and trail.kind == "scores":
        follow(flow, trail, out, out, "times", kwargs.get("alpha", 1))
        if kwargs.get("beta", 1) != 0:
            trail = flow.trail(out)
            assert trail is not None
            follow(flow, trail, out, out, "plus", added, kwargs.get("beta", 1))
    return out


def _met(flow: Flow, left: Tensor, right: Tensor, out: Tensor, lost: str = "") -> Tensor:
    one, other = flow.trail(left), flow.trail(right)
    weights = [trail is not None and trail.kind in ("weights", "exp") for trail in (one, other)]
    if not any(weights):
        _begun(flow, left, right, out)
        return out
    if all(weights):
        return out  # weights of weights: nobody's values
    trail, tensor, value, turned = (one, left, right, False) if weights[0] else (other, right, left, True)
    assert trail is not None
    if trail.kind == "exp" or lost:
        trail = trail.losing(lost or _LATE)
    axes = flow.axes(tensor) if trail.product is not None else None
    if axes is not None:
        axes = _three(axes, column=turned)
    return flow.meet(Meeting(trail, axes, value, turned, _sizes(left, right), out))


def _begun(flow: Flow, left: Tensor, right: Tensor, out: Tensor) -> None:
    """A product that may become scores, unless it is a projection: one with a parameter."""
    ours, theirs = flow.origin(left), flow.origin(right)
    if (ours.learned or theirs.learned) and out.dim() < 3:
        return
    batch, rows, columns = _sizes(left, right)
    product = Product(
        Operand(left, ours, version(left)), Operand(right, theirs, version(right)), batch, rows, columns
    )  # fmt: skip
    flow.sweep()
    axes = product.axes
    sizes = tuple(out.shape)
    kept = [step for size, step in zip(axes.sizes, axes.steps, strict=True)]
    if out.dim() == 2:
        kept = kept[1:]
    elif out.dim() == 1:
        kept = [kept[1]]
    flow.note(out, Trail(product), Axes(0, sizes, tuple(kept)))


def _sizes(left: Tensor, right: Tensor) -> tuple[int, int, int]:
    """(batch, row, column) of a product."""
    batch = left.shape[0] if left.dim() == 3 else 1
    return batch, left.shape[-2], right.shape[-1] if right.dim() > 1 else 1


def _three(axes: Axes, *, column: bool) -> Axes:
    """Three axes: a batch of one, and one column for a vector."""
    missing = 3 - len(axes.sizes)
    ones, zeros = (1,) * missing, (0,) * missing
    if len(axes.sizes) == 1 and column:
        return Axes(axes.at, (1, *axes.sizes, 1), (0, *axes.steps, 0))
    return Axes(axes.at, (*ones, *axes.sizes), (*zeros, *axes.steps))


PRODUCTS: dict[str, Rule] = {"bmm": _plain, "mm": _plain, "mv": _plain, "baddbmm": _added, "addmm": _added}
