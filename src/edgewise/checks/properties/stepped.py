"""Reading part by part with a cache (L1–L3) against reading all at once, and what is left over for the next text."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from edgewise.checks.calls.calling import Refused, stops
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.meaning.intended import chooses
from edgewise.checks.properties.emptied import empty
from edgewise.checks.properties.exactly import rounded
from edgewise.checks.properties.inside_steps import Cause, inside_of, listed

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["left_over", "stepped"]

EQUAL = "part by part gives what all at once gives"


def stepped(lab: "Lab") -> Iterator[Observation | None]:
    """Yield, for each way of feeding a cache, how it differs from all at once; None where it does not."""
    for route in lab.where(packed=False, training=False, contiguous=True):
        if not route.cached or route.dtype is not None or not lab.expected(route=lab.plain).causal:
            continue  # what reads both ways cannot be read part by part
        if lab.subject.library and chooses(lab.subject.config, lab.length):
            continue  # of equal scores another may be picked
        try:
            yield _compared(lab, route)
        except (Refused, Skip):
            continue


def _compared(lab: "Lab", route: Route) -> Observation | None:
    given, whole = lab.given(route), replace(route, cached=())
    full, parts = lab.out(given, whole), lab.out(given, route)
    if full.shape != parts.shape:
        return None
    real = torch.ones(full.shape[:2], dtype=torch.bool) if given.keep is None else given.keep.cpu()
    chosen, others = full[real], parts[real]
    apart = lab.close(chosen, others, route)
    if apart is None or not bool(chosen.isfinite().all()) or rounded(lab, given, route, whole, given.keep):
        return None
    off = (full - parts).abs().amax(-1).masked_fill(~real.to(full.device), 0)
    row, query = divmod(int((off > 0.01 * off.max()).flatten().double().argmax()), off.shape[1])
    cause = _cause(lab, route, whole, given, row, query)
    return Observation(
        *("path-mismatch", cause.kind, route, f"outputs differ by {apart:.3g} from all at once, from token {query} on"),
        EQUAL,
        cause.words,
        cause.site,
        query=query,
        size=apart,
        warning=_chunk_alone(lab, route),
    )


def _chunk_alone(lab: "Lab", route: Route) -> bool:
    """Whether several tokens follow a cache by a method that may be meant for one at a time."""
    caching = lab.subject.caching
    return caching is not None and caching.method not in ("", "forward") and any(one > 1 for one in route.cached[1:])


def _cause(lab: "Lab", route: Route, whole: Route, given: Given, row: int, query: int) -> Cause:
    """Why: what is read differs (L3, L2), or only what it holds (L1, L2)."""
    first = stops(route.cached, given.length)[0]
    inside = inside_of(lab, route, whole, given)
    there, here = (lab.influence(one, row=row).moved for one in (route, whole))
    differ = (there != here) & ~torch.eye(len(here), dtype=torch.bool)
    if given.keep is not None and given.keep.shape[1] == len(differ):
        differ = differ & given.keep[row].cpu()[:, None]  # what a pad reads is nobody's concern
    if bool(differ.any()):
        at = int(differ.any(1).nonzero()[0])
        told = f"token {at} reads {listed(there[at])}, in place of {listed(here[at])}"
        if inside is not None and inside.kind == "L2":
            return inside._replace(words=f"{inside.words}: {told}")
        return Cause("L3", f"the mask of a step: {told}", "" if inside is None else inside.site)
    if inside is not None:
        return inside
    if query < first:
        return Cause("L6", "the first call with a cache already differs, though nothing is cached yet")
    words = "position: it restarts, or is counted otherwise, when a cache is given; what is read is the same"
    return (
        Cause("L1", words) if _order_matters(lab, whole) else Cause("L2", "what the cache holds is not what was read")
    )


def _order_matters(lab: "Lab", whole: Route) -> bool:
    """Whether the last output of one text changes where its first two tokens change places."""
    given = lab.given(whole)
    if given.length < 3:
        return False
    tokens = given.tokens.clone()
    tokens[:, [0, 1]] = tokens[:, [1, 0]]
    before, after = lab.out(given, whole), lab.answer(given.replace(tokens=tokens), whole).out
    return lab.close(before[:, -1], after[:, -1], whole) is not None


def left_over(lab: "Lab") -> Iterator[Observation | None]:
    """Yield ways on which a text is answered otherwise after another one: something of that was kept."""
    taken = [one for one in lab.where(packed=False, training=False, mask=lab.plain.mask) if one.dtype is None]
    routes = [lab.plain, *[one for one in taken if one.cached][:2], *[one for one in taken if one.switches][:4]]
    routes += [replace(lab.plain, switches=((name, True),)) for name in _keeping(lab)]
    for route in dict.fromkeys(routes):
        given, other = lab.given(route), lab.given(route, seed=3)
        try:
            empty(lab.subject.module)
            before = lab.asked(given, route)
            lab.asked(other, route)
            empty(lab.subject.module)  # a module that has to be told when a text ends is told
            after = lab.asked(given, route)
        except Refused:
            continue
        apart = None if before.shape != after.shape else lab.close(before, after, route)
        if apart is None:
            yield None
            continue
        measured = f"the same text gives outputs that differ by {apart:.3g} after another text"
        likely = "something of an earlier text is kept and read again: a cache that is not emptied, or shared"
        expected = "the same answer, whatever was read before"
        yield Observation("path-mismatch", "L2", route, measured, expected, likely, size=apart)


def _keeping(lab: "Lab") -> list[str]:
    """Flags that let a module keep a cache of its own, which no route of the lab turns on."""
    module, known = lab.subject.module, {name for name, _ in lab.subject.switches}
    if module is None or lab.subject.caching is not None or lab.subject.library:
        return []
    try:
        taken = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return []  # compiled or traced: no flag can be told
    return [one.name for one in taken if one.default is False and "cache" in one.name and one.name not in known]
