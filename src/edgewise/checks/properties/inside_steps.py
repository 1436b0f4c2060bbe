"""What differs between the calls of attention of single steps and that of the whole text: keys, places, or edges."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused, stops
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["Cause", "inside_of", "listed"]


class Cause(NamedTuple):
    """Why reading part by part gives something else."""

    kind: str
    words: str
    site: str = ""


def inside_of(lab: "Lab", route: Route, whole: Route, given: Given) -> Cause | None:
    """Return what differs between the calls of the steps and that of the whole text, at the first site where any does.

    Args:
        lab: what measures.
        route: the way that reads part by part.
        whole: the same, all at once.
        given: the text.
    """
    calls, at_once = lab.calls(route), lab.calls(whole)
    for one in at_once:
        steps = [each for each in calls if each.site == one.site and each.kind == "self"]
        if one.kind != "self" or not steps or one.query.shape[2] != given.length:
            continue
        found = _site(lab, one, steps, route, whole, given)
        if found is not None:
            return found
    return None


def _site(lab: "Lab", one: "Seen", steps: list["Seen"], route: Route, whole: Route, given: Given) -> Cause | None:
    last, keys = steps[-1], steps[-1].key.shape[2]
    if sum(each.query.shape[2] for each in steps) != given.length:
        return None
    if keys < given.length and not _alike(one.key[:, :, :keys], last.key):
        seen = int(one.cells[-1].sum())
        # What a window has passed by need not be kept.
        return (
            Cause("L2", f"the cache has lost keys: the last step has {keys} of {seen}", one.site)
            if keys < seen
            else None
        )
    if keys != given.length:
        hidden = int(one.cells[-1].sum()) - int(last.cells[-1].sum())
        return (
            Cause("L3", f"the mask of a step hides {hidden} of the keys that its query reads", one.site)
            if hidden > 0
            else None
        )
    key, value = (not _alike(a, b) for a, b in ((one.key, last.key), (one.value, last.value)))
    if key or value:
        return _held(lab, one, last, route, whole, given, turned=not value)
    if not _alike(one.query, torch.cat([each.query for each in steps], dim=2)):
        return Cause("L1", "the queries of a step stand at another position than their keys", one.site)
    return _edges(one, steps, given)


def _edges(one: "Seen", steps: list["Seen"], given: Given) -> Cause | None:
    """Whether a step reads other tokens than all at once does, of the same queries, keys and values."""
    for each in steps:
        many, keys = each.query.shape[2], each.key.shape[2]
        there, here = torch.broadcast_tensors(each.allowed, one.allowed[:, :, each.first : each.first + many, :keys])
        differ = (there != here).any(1)
        if given.keep is not None and given.keep.shape[0] == len(differ):
            differ = differ & given.keep[:, each.first : each.first + many, None].to(differ.device)
        if bool(differ.any()):
            row, query, _ = (int(at) for at in differ.nonzero()[0])
            now, then = (side[row].any(0)[query] for side in (there, here))
            told = f"token {each.first + query} reads {listed(now)}, in place of {listed(then)}"
            return Cause("L3", f"the mask of a step: {told}", one.site)
    return None


def _held(lab: "Lab", one: "Seen", last: "Seen", route: Route, whole: Route, given: Given, *, turned: bool) -> Cause:
    """Why a cache holds other keys or values than those that all at once has."""
    new = route.cached[-1] if len(route.cached) > 1 else 1
    stale = _elsewhere(one.key, last.key)
    if stale is not None:
        return Cause("L2", f"the cache holds the key of token {stale[1]} in place of token {stale[0]}", one.site)
    if _restarts(lab, route, whole, given, one):
        return Cause("L1", "position restarts at 0 when a cache is given: the cached length is not added", one.site)
    if turned and _alike(one.key[:, :, -new:], last.key[:, :, -new:]):
        return Cause("L1", "keys that were cached are given a position again", one.site)
    if _placed(lab, one, last, route, whole):
        padded = given.keep is not None and not bool(given.keep[:, 0].all())
        pads = ": the cached length counts pads as well" if padded else ""
        return Cause("L1", f"position: with a cache it is counted otherwise than without{pads}", one.site)
    if turned or _added(lab, one, last, route, whole, given):
        return Cause("L1", "position: with a cache it is counted otherwise than without", one.site)
    return Cause("L2", "the cache holds other keys and values than those of the tokens read", one.site)


def _placed(lab: "Lab", one: "Seen", last: "Seen", route: Route, whole: Route) -> bool:
    """Whether new tokens alone bring in other keys, each made of its own token and of nothing else but its place."""
    start = route.cached[0]
    if not all(
        _alike(getattr(one, name)[:, :, :start], getattr(last, name)[:, :, :start]) for name in ("key", "value")
    ):
        return False
    found = lab.reads(whole)
    if found is None or found.site != one.site:
        return False
    others = ~torch.eye(found.key.shape[-1], dtype=torch.bool, device=found.key.device)
    return not bool(((found.key | found.value) & others).any())


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


def listed(row: Tensor) -> str:
    """Return which tokens a row has, in words: "2…4"."""
    seen = row.nonzero()[:, 0].tolist()
    whole = len(seen) > 2 and seen == list(range(seen[0], seen[-1] + 1))
    return f"{seen[0]}…{seen[-1]}" if whole else ", ".join(map(str, seen)) or "nothing"
