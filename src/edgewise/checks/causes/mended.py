"""A site computed by the reference on the graph that was meant: is the fault gone then?"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from edgewise.attention import attend
from edgewise.checks.causes.narrow import again
from edgewise.checks.finding import Observation
from edgewise.checks.property import Property
from edgewise.tracing import Attention, Watch, watched

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["mended"]


def mended(cause: Observation, one: Property, lab: "Lab", site: str) -> bool:
    """Return whether a fault is gone once one site reads what it was meant to; False too where it cannot be tried."""
    from edgewise.checks.lab.lab import Lab

    module, graph = lab.subject.module, lab.expected().graph
    calls = [seen for seen in lab.calls(cause.route) if site == (seen.site or type(module).__name__)]
    if calls:
        graph = lab.expected(calls[0]).graph
    if module is None or graph is None or cause.route.mask in ("left", "right") or cause.route.packed:
        return False
    names = {seen.site for seen in calls}

    def listen(attention: Attention, original: Callable[[], Tensor]) -> Tensor:
        if attention.site.name not in names:
            return original()
        given: dict[str, Any] = attention.arguments() | {"graph": graph}
        return attend(**given)

    with watched(Watch(module, listen, changes=True)):
        fresh = Lab(lab.subject, lab.declared, length=lab.length, seed=lab.seed)
        return again(one, fresh, cause, cause.route) is None
