"""A cache put in another order between two steps, as beam search does: each row goes on from the row it was given."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.calling import Refused, stops
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["reordered"]

Reorder = Callable[[Any, Tensor], Any]

_NAMES = re.compile(
    r"_?(reorder|reindex|rearrange|gather|select)(_\w*)?(cache|caches|past|state|states|beams?|rows)|reorder"
)
_ORDERS = re.compile(r"(beam|row|cache|batch|parent)s?_(idx|ids|index|indices|order)|new_order|reorder|parents")


def reordered(lab: "Lab", routes: list[Route]) -> Iterator[Observation]:
    """Yield the first cached route on which a reordered cache is not that of the rows it was reordered to."""
    for route in routes:
        if not route.cached or route.dtype is not None or route.training or route.mask != lab.plain.mask:
            continue
        try:
            found = _compared(lab, route)
        except Refused:
            continue
        if found is not None:
            yield found
            return


ORDER = [2, 0, 0]
"""One row is left, one goes on twice, and the order is not its own inverse."""


def _compared(lab: "Lab", route: Route) -> Observation | None:
    route = replace(route, batch=len(ORDER))
    given, order = _one_memory(lab.given(route)), ORDER
    start = stops(route.cached, given.length)[0]
    index = torch.tensor(order, device=given.tokens.device)
    done: list[str] = []

    def between(cache: Any, stop: int) -> tuple[Any, dict[str, Any]]:
        if stop != start:
            return cache, {}
        name = _argument(lab)
        if name:
            done.append(name)
            return cache, {name: index}
        name, reorder = _way(lab.subject.module, cache)
        done.append(name)
        return reorder(cache, index), {}

    asked = given.replace(tokens=torch.cat([given.rows(order).tokens[:, :start], given.tokens[:, start:]], dim=1))
    wanted = lab.answer(asked, route).out[:, start:]
    got = lab.answer(given, route, between=between).out[:, start:]
    apart = lab.close(got, wanted, route) if got.shape == wanted.shape else None
    if apart is None:
        return None
    kept = lab.answer(given, route).out[:, start:]
    still = lab.close(got, kept, route) is None
    return Observation(
        *("batch-leak", "E4", route),
        f"after {done[0]} to {order}, outputs differ by {apart:.3g} from those of the rows it was reordered to",
        "each row goes on from the row that it was given",
        "the reordering changes nothing" if still else "rows are reordered in a part of the cache, and not everywhere",
        size=apart,
    )


def _argument(lab: "Lab") -> str:
    """The argument that a call takes the order of the rows by; "" where it takes none."""
    caching, module = lab.subject.caching, lab.subject.module
    if caching is None or module is None or lab.subject.library:
        return ""
    method = getattr(module, caching.method or "forward")
    taken = inspect.signature(method).parameters.values()
    return next((one.name for one in taken if one.default is None and _ORDERS.fullmatch(one.name)), "")


def _one_memory(given: Given) -> Given:
    """Beams of one text: they read one memory, so that only what is cached tells rows apart."""
    first = [0] * given.batch
    memory = None if given.memory is None else given.memory[first]
    return given.replace(memory=memory, memory_keep=None if given.memory_keep is None else given.memory_keep[first])


def _way(module: nn.Module | None, cache: Any) -> tuple[str, Reorder]:
    """How rows of a cache are put in another order: by a method of the cache, or of the target.

    Raises:
        Refused: there is no such method.
    """
    several = list(cache) if isinstance(cache, list | tuple) else []
    name = next(_methods(several[0] if several else cache), "")
    if several and name:
        return name, lambda held, index: type(held)(_or(getattr(one, name)(index), one) for one in held)
    if name:
        return name, lambda held, index: _or(getattr(held, name)(index), held)
    name = next(_methods(module), "")
    if not name:
        raise Refused("nothing that it has puts the rows of a cache in another order")
    method = getattr(module, name)
    return name, lambda held, index: _or(method(*_arguments(method, held, index)), held)


def _methods(owner: Any) -> Iterator[str]:
    if owner is None or isinstance(owner, Tensor):
        return
    names = (name for name in dir(type(owner)) if _NAMES.fullmatch(name))
    yield from (name for name in names if callable(getattr(owner, name, None)))


def _arguments(method: Callable[..., Any], cache: Any, index: Tensor) -> tuple[Any, ...]:
    """The cache and the rows in the order in which a method names them; the rows alone where it keeps the cache."""
    wanted = [one.name for one in inspect.signature(method).parameters.values() if one.default is one.empty]
    if len(wanted) < 2:
        return (index,)
    rows_first = re.search(r"idx|index|indices|order|beam", wanted[0]) is not None
    return (index, cache) if rows_first else (cache, index)


def _or(returned: Any, cache: Any) -> Any:
    return cache if returned is None else returned
