"""Reading part by part with a cache (L1–L3) against reading all at once, and what is left over for the next text."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused, stops
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.emptied import empty
from edgewise.checks.properties.exactly import rounded

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["left_over", "stepped"]

EQUAL = "part by part gives what all at once gives"


class _Cause(NamedTuple):
    kind: str
    words: str
    site: str = ""


def stepped(lab: "Lab") -> Iterator[Observation | None]:
    """Yield, for each way of feeding a cache, how it differs from all at once; None where it does not."""
    for route in lab.where(packed=False, training=False, contiguous=True):
        if not route.cached or route.dtype is not None or not lab.expected(route=lab.plain).causal:
            continue  # what reads both ways cannot be read part by part
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


def _cause(lab: "Lab", route: Route, whole: Route, given: Given, row: int, query: int) -> _Cause:
    """Why: what is read differs (L3, L2), or only what it holds (L1, L2)."""
    first = stops(route.cached, given.length)[0]
    inside = _inside(lab, route, whole, given)
    there, here = (lab.influence(one, row=row).moved for one in (route, whole))
    apart = ~torch.eye(len(here), dtype=torch.bool)
    if bool(((there != here) & apart).any()):
        at = int(((there != here) & apart).any(1).nonzero()[0])
        told = f"token {at} reads {_listed(there[at])}, in place of {_listed(here[at])}"
        if inside is not None and inside.kind == "L2":
            return inside._replace(words=f"{inside.words}: {told}")
        return _Cause("L3", f"the mask of a step: {told}", "" if inside is None else inside.site)
    if inside is not None:
        return inside
    if query < first:
        return _Cause("L6", "the first call with a cache already differs, though nothing is cached yet")
    words = "position: it restarts, or is counted otherwise, when a cache is given; what is read is the same"
    return (
        _Cause("L1", words) if _order_matters(lab, whole) else _Cause("L2", "what the cache holds is not what was read")
    )


def _listed(row: Tensor) -> str:
    seen = row.nonzero()[:, 0].tolist()
    whole = len(seen) > 2 and seen == list(range(seen[0], seen[-1] + 1))
    return f"{seen[0]}…{seen[-1]}" if whole else ", ".join(map(str, seen)) or "nothing"


def _inside(lab: "Lab", route: Route, whole: Route, given: Given) -> _Cause | None:
    """What differs between the calls of the steps and that of the whole text, at the first site where any does."""
    calls, at_once = lab.calls(route), lab.calls(whole)
    for one in at_once:
        steps = [each for each in calls if each.site == one.site and each.kind == "self"]
        if one.kind != "self" or not steps or one.query.shape[2] != given.length:
            continue
        found = _site(lab, one, steps, route, whole, given)
        if found is not None:
            return found
    return None


def _site(lab: "Lab", one: "Seen", steps: list["Seen"], route: Route, whole: Route, given: Given) -> _Cause | None:
    last, keys = steps[-1], steps[-1].key.shape[2]
    if sum(each.query.shape[2] for each in steps) != given.length:
        return None
    if keys < given.length and not _alike(one.key[:, :, :keys], last.key):
        seen = int(one.cells[-1].sum())
        # What a window has passed by need not be kept.
        return (
            _Cause("L2", f"the cache has lost keys: the last step has {keys} of {seen}", one.site)
            if keys < seen
            else None
        )
    if keys != given.length:
        hidden = int(one.cells[-1].sum()) - int(last.cells[-1].sum())
        return (
            _Cause("L3", f"the mask of a step hides {hidden} of the keys that its query reads", one.site)
            if hidden > 0
            else None
        )
    key, value = (not _alike(a, b) for a, b in ((one.key, last.key), (one.value, last.value)))
    if key or value:
        return _held(lab, one, last, route, whole, given, turned=not value)
    if not _alike(one.query, torch.cat([each.query for each in steps], dim=2)):
        return _Cause("L1", "the queries of a step stand at another position than their keys", one.site)
    return None


def _held(lab: "Lab", one: "Seen", last: "Seen", route: Route, whole: Route, given: Given, *, turned: bool) -> _Cause:
    """Why a cache holds other keys or values than those that all at once has."""
    new = route.cached[-1] if len(route.cached) > 1 else 1
    stale = _elsewhere(one.key, last.key)
    if stale is not None:
        return _Cause("L2", f"the cache holds the key of token {stale[1]} in place of token {stale[0]}", one.site)
    if _restarts(lab, route, whole, given, one):
        return _Cause("L1", "position restarts at 0 when a cache is given: the cached length is not added", one.site)
    if turned and _alike(one.key[:, :, -new:], last.key[:, :, -new:]):
        return _Cause("L1", "keys that were cached are given a position again", one.site)
    if turned or _added(lab, one, last, route, whole, given):
        return _Cause("L1", "position: with a cache it is counted otherwise than without", one.site)
    return _Cause("L2", "the cache holds other keys and values than those of the tokens read", one.site)


def _added(lab: "Lab", one: "Seen", last: "Seen", route: Route, whole: Route, given: Given) -> bool:
    """Whether the difference is the same for another text: then it is of what was added for positions."""
    if given.keep is not None and not bool(given.keep.all()):
        return False
    other = lab.given(route, seed=3)
    full = [each for each in lab.calls(whole, other) if each.site == one.site]
    parts = [each for each in lab.calls(route, other) if each.site == one.site]
    if not full or not parts or parts[-1].value.shape != last.value.shape:
        return False
    first, second = last.value.double() - one.value.double(), parts[-1].value.double() - full[0].value.double()
    return float((first - second).abs().max()) <= 1e-4 * float(first.abs().max())


def _alike(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    size = float(one.double().abs().max())
    return float((one.double() - other.double()).abs().max()) <= max(1e-9, 4096 * torch.finfo(one.dtype).eps) * size


def _elsewhere(one: Tensor, other: Tensor) -> tuple[int, int] | None:
    """A token whose key in the cache is that of another token."""
    for token in range(one.shape[2] if one.shape == other.shape else 0):
        if _alike(one[:, :, token], other[:, :, token]):
            continue
        for source in range(one.shape[2]):
            if source != token and _alike(one[:, :, source], other[:, :, token]):
                return token, source
    return None


def _restarts(lab: "Lab", route: Route, whole: Route, given: Given, one: "Seen") -> bool:
    """Whether the first step after a cache has the keys that its tokens would have with nothing before them."""
    start = stops(route.cached, given.length)[0]
    steps = [each for each in lab.calls(route) if each.site == one.site]
    if len(steps) < 2 or (given.keep is not None and not bool(given.keep.all())):
        return False
    new = steps[1].query.shape[2]
    held = steps[1].key[:, :, -new:]
    try:
        fresh = [each for each in lab.calls(whole, given.slice(start, start + new)) if each.site == one.site]
    except Refused:
        return False
    return bool(fresh) and _alike(fresh[0].key, held) and not _alike(one.key[:, :, start : start + new], held)


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
