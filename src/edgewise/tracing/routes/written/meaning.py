"""What the steps between two products amount to: scale, edges, bias, cap, sinks and dropout; or why they do not."""

from torch import Tensor

from edgewise.tracing.masks import HIDDEN
from edgewise.tracing.routes.written.amounts import Meaning
from edgewise.tracing.routes.written.arrange import Arrangement, Unexplained
from edgewise.tracing.routes.written.trail import Product, Step, version
from edgewise.tracing.routes.written.verbs import VERBS

__all__ = ["meaning"]


def meaning(arrangement: Arrangement, product: Product, steps: tuple[Step, ...]) -> Meaning:
    """What the steps amount to.

    Raises:
        Unexplained: they are not what attention does.
    """
    found = Meaning(arrangement, product)
    for at, step in enumerate(steps):
        if isinstance(step.by, Tensor) and version(step.by) != step.written:
            raise Unexplained(f"what they were combined with ({step.verb}) has been written to since")
        VERBS[step.verb](found, step, steps[at + 1 :])
    _covered(found)
    return found


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
