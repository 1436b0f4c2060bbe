"""A step with a cache that is told no positions (L1): they are counted on from what the cache holds, and not anew."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor, nn

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation
from edgewise.checks.meaning.intended import chooses

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["uncounted"]

RIGHT = "part by part gives what all at once gives, whether positions are said or not"


def uncounted(lab: "Lab") -> Iterator[Observation | None]:
    """Yield how a model of the library that counts positions itself, with a cache, differs from all at once.

    Wherever else a cache is, positions are said, as `generate` says them: what differs here alone is their counting.
    """
    subject, places = lab.subject, lab.subject.positions
    if places is None or places.required or places.always or subject.library != "transformers":
        return
    if not lab.expected(route=lab.plain).causal or chooses(subject.config, lab.length):
        return
    usual = {one: getattr(lab.plain, one) for one in ("mask", "batch", "weights", "backend", "dtype", "training")}
    taken = [one for one in lab.where(**usual, packed=False, switches=(), contiguous=True) if one.cached and one.places]
    for said in taken[:1]:
        try:
            yield _compared(lab, said)
        except Refused:
            continue


def _compared(lab: "Lab", said: Route) -> Observation | None:
    route = replace(said, places=False)
    given = lab.given(route)
    whole, told, parts = (lab.out(given, one) for one in (lab.plain, said, route))
    if whole.shape != parts.shape or lab.close(whole, told, said) is not None:
        return None  # it is wrong with positions, too, and that is told
    apart = lab.close(whole, parts, route)
    if apart is None:
        return None
    off = (whole - parts).abs().amax((0, 2))
    query = int((off > 0.01 * off.max()).double().argmax())
    measured = f"outputs differ by {apart:.3g} from all at once, from token {query} on"
    with _fresh(lab.module(route)) as left:
        stale = bool(left) and lab.close(whole, lab.asked(given, route), route) is None
    if stale:
        names = ", ".join(dict.fromkeys(left))
        likely = f"positions that are left out go by {names}, which an earlier text has left in the model"
        return Observation("path-mismatch", "L2", route, measured, RIGHT, likely, query=query, size=apart, warning=True)
    likely = "positions that are left out are not counted on from what the cache holds; with positions said it is right"
    return Observation("path-mismatch", "L1", route, measured, RIGHT, likely, query=query, size=apart)


@contextmanager
def _fresh(module: nn.Module | None) -> Generator[list[str]]:
    """While this lasts, whole numbers that a model keeps beside its buffers are gone; yields their names."""
    parts = [] if module is None else list(module.modules())
    kept = [(part, name, value) for part in parts for name, value in vars(part).items() if isinstance(value, Tensor)]
    kept = [one for one in kept if not one[2].is_floating_point()]
    for part, name, _ in kept:
        setattr(part, name, None)
    try:
        yield [name for _, name, _ in kept]
    finally:
        for part, name, value in kept:
            setattr(part, name, value)
