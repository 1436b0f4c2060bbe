"""Rotary positions looked at from inside: with the same token everywhere, a score may depend on the distance alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.numbers.products import produced
from edgewise.checks.numbers.projections import projection

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["Turn", "far", "near", "same_token", "varies"]

STILL = 1e-5
"""Vectors that differ by less than this share do not change with the position, in float32 and above."""
BROKEN, ROUGH = 0.03, 2e-4
"""A score at the same distance that differs by more than this share is no rotation; by more than that, a coarse one."""
FAR_ROUGH, HALF_ROUGH = 4e-4, 0.06
"""The same among far positions, where a float32 angle has lost digits, and in half precision."""
LONG = 600
STARTS = (20_000, 700)


class Turn(NamedTuple):
    """What is wrong with a rotation."""

    kind: str
    measured: str
    likely: str
    site: str
    head: int | None = None


def same_token(given: Given) -> Given:
    """Return an input in which one token stands everywhere, in all rows."""
    tokens = given.tokens[:1, :1].expand_as(given.tokens).contiguous()
    return given.replace(tokens=tokens)


def near(lab: "Lab", route: Route) -> tuple[Turn | None, bool]:
    """Return what is wrong with the rotation at the usual length, and whether there is one at all."""
    given = same_token(lab.given(route))
    other = same_token(lab.given(route, seed=1))
    calls = [one for one in lab.calls(route, given) if one.kind == "self"]
    others = [one for one in lab.calls(route, other) if one.kind == "self"]
    found = False
    for one, twin in zip(calls, others, strict=False):
        if one.query.shape[2] != given.length or twin.query.shape != one.query.shape:
            return None, found
        query, key, value = (varies(each) for each in (one.query, one.key, one.value))
        if value:
            return (_value_turned(one) if not found else None), found
        if not (query or key):
            turn = _by_head(lab, route, one.site)
            if turn is not None:
                return turn, found
            continue
        if _added(one.query, twin.query) and _added(one.key, twin.key):
            return None, found
        found = True
        turn = _turned(one, twin, BROKEN, ROUGH)
        if turn is not None:
            return turn, found
    return None, found


def far(lab: "Lab", route: Route) -> Turn | None:
    """Return what is wrong with the rotation among far positions, or in half precision."""
    for given, other in _far(lab, route):
        try:
            calls = [one for one in lab.calls(route, given) if one.kind == "self"]
        except Refused:
            continue
        for one in calls[:1]:
            half = one.query.dtype in (torch.float16, torch.bfloat16)
            if varies(one.value, 0.05 if half else STILL) or not varies(one.query):
                return None
            scores, rough = _scores(one, last=64), HALF_ROUGH if half else FAR_ROUGH
            off = _unlike(scores)
            if off <= rough:
                return None
            twin = next(each for each in lab.calls(route, other) if each.site == one.site)
            if _tempered(one, twin, scores, rough, last=64):
                return None
            likely = "the angle was computed in too few digits: positions or frequencies are in half precision"
            measured = f"scores at the same distance differ by {off:.2g} of their size at far positions"
            return Turn("K3", measured, likely, one.site)
        return None
    return None


def _far(lab: "Lab", route: Route) -> Iterator[tuple[Given, Given]]:
    """Inputs with far positions, each for two tokens."""
    single = replace(route, batch=1)
    if lab.subject.positions is not None and lab.subject.positions.form == "each":
        for start in STARTS:
            places = torch.arange(start, start + 32)[None]
            one, other = (same_token(lab.given(single, length=32, seed=seed)) for seed in (0, 1))
            yield one.replace(positions=places), other.replace(positions=places)
    if (lab.subject.longest or LONG) >= LONG:
        one, other = (same_token(lab.given(single, length=LONG, seed=seed)) for seed in (0, 1))
        yield one, other


def varies(vectors: Tensor, still: float = STILL) -> bool:
    """Whether vectors (batch, heads, row, width) change from row to row."""
    still = max(still, 8 * torch.finfo(vectors.dtype).eps)
    vectors = vectors.double()
    return bool((vectors - vectors[:, :, :1]).abs().amax() > still * vectors.abs().amax().clamp_min(1e-30))


def _added(vectors: Tensor, others: Tensor) -> bool:
    """Whether what changes from row to row is the same for two tokens: then something was added, and nothing turned."""
    first, second = ((one - one[:, :, :1]).double() for one in (vectors, others))
    return bool((first - second).abs().max() <= 1e-4 * max(float(first.abs().max()), 1e-12))


def _value_turned(seen: "Seen") -> Turn | None:
    """A value that is turned by its position keeps its length; one to which a position was added does not."""
    lengths = seen.value.double().norm(dim=-1)
    if not bool(((lengths - lengths[..., :1]).abs() <= STILL * lengths).all()):
        return None
    still = "the key is not" if not varies(seen.key) else "the query is not" if not varies(seen.query) else ""
    likely = f"the wrong tensor is turned: {still}" if still else "rotary positions are for queries and keys alone"
    return Turn("K1", "the value is turned by its position" + (f", {still}" if still else ""), likely, seen.site)


def _scores(seen: "Seen", last: int | None = None) -> Tensor:
    """(heads, blocks, rows, rows): query · key as shares of the longest; of far rows, the first and the last ones."""
    query, key = seen.query[0].double(), seen.key[0].double()
    key = key.repeat_interleave(query.shape[0] // key.shape[0], dim=0)
    size = (query.norm(dim=-1).amax() * key.norm(dim=-1).amax()).clamp_min(1e-30)
    far_apart = last is not None and query.shape[1] > 2 * last
    parts = (slice(0, last), slice(-last, None)) if last is not None and far_apart else (slice(None),)
    blocks = [query[:, part] @ key[:, part].transpose(-2, -1) / size for part in parts]
    return torch.stack(blocks, dim=1)


def _unlike(scores: Tensor) -> float:
    """How much scores at the same distance differ, of one head."""
    rows = scores.shape[-1]
    worst = 0.0
    for distance in range(1 - rows, rows):
        band = scores.diagonal(distance, dim1=-2, dim2=-1).flatten(1)
        worst = max(worst, float((band.amax(-1) - band.amin(-1)).max()))
    return worst


def _turned(seen: "Seen", twin: "Seen", broken: float, rough: float) -> Turn | None:
    scores = _scores(seen)
    off = _unlike(scores)
    half = seen.query.dtype in (torch.float16, torch.bfloat16)
    if off <= (HALF_ROUGH if half else rough) or _tempered(seen, twin, scores, rough):
        return None
    measured = f"scores of the same token at the same distance differ by {off:.2g} of their size"
    if off <= broken or half:
        likely = "the angle, its sine or its cosine was computed in half precision"
        return Turn("K3", measured, likely, seen.site)
    return Turn("K1", *_mistake(seen, scores, measured), seen.site, _worst_head(scores))


def _tempered(seen: "Seen", twin: "Seen", scores: Tensor, rough: float, last: int | None = None) -> bool:
    """Whether queries only grow with their position, by a factor that no token has a say in: a temperature."""
    first, second = (one.query[0].double().norm(dim=-1) for one in (seen, twin))
    if scores.shape[1] > 1 and last is not None:
        first, second = (torch.cat([one[:, :last], one[:, -last:]], dim=1) for one in (first, second))
    ratio, other = (one / one[:, :1] for one in (first, second))
    if not bool(ratio.isfinite().all() & other.isfinite().all()):
        return False
    slack = 1e-4 if rough < HALF_ROUGH else 0.03
    if max(float((ratio - other).abs().max()), float((ratio - ratio[:1]).abs().max())) > slack * float(ratio.max()):
        return False
    return _unlike(scores / ratio.unflatten(1, scores.shape[1:3])[..., None]) <= rough


def _mistake(seen: "Seen", scores: Tensor, measured: str) -> tuple[str, str]:
    if not varies(seen.key):
        return "queries are turned by their position and keys are not", "rotary positions were left out for keys"
    if not varies(seen.query):
        return "keys are turned by their position and queries are not", "rotary positions were left out for queries"
    if _unlike(scores.flip(-1)) < ROUGH:
        return (
            f"{measured}; they depend on the sum of the two positions",
            "query and key are turned in opposite directions",
        )
    lengths = seen.query.double().norm(dim=-1)
    if float((lengths - lengths[..., :1]).abs().max()) > 1e-3 * float(lengths.max()):
        return (
            f"{measured}; the length of a query changes with its position",
            "pairing: cosines and sines are laid out for other pairs of numbers than those that are turned",
        )
    return measured, "queries and keys are turned by different angles at the same position"


def _worst_head(scores: Tensor) -> int | None:
    each = [_unlike(scores[head : head + 1]) for head in range(scores.shape[0])]
    return None if min(each) > ROUGH else each.index(max(each))


def _by_head(lab: "Lab", route: Route, site: str) -> Turn | None:
    """Whether vectors that do not change with the position were turned all the same: by head, or by row."""
    given = lab.given(route)
    seen = next((one for one in lab.calls(route) if one.site == site), None)
    products = produced(lab, given, route)
    for name, vectors in (("query", seen.query), ("key", seen.key)) if seen is not None else ():
        before = projection(vectors, products)
        if before is None:
            continue
        apart = (vectors.double() - before.vectors * before.factor).abs().amax((2, 3)) / vectors.double().abs().amax()
        moved = apart > 1e-3  # (batch, heads)
        if not bool(moved.any()):
            continue
        if bool((moved.any(1) != moved.any(1)[0]).any()) and not bool(moved[0].any()):
            measured = f"the {name} of row {int(moved.any(1).nonzero()[0])} is turned, at every position alike"
            return Turn("K2", measured, "rotary on the wrong axis: the angle changes with the row of the batch", site)
        if not bool(moved[:, 0].any()):
            head = int(moved.any(0).nonzero()[0])
            measured = f"the {name} of head {head} is turned, at every position alike; that of head 0 is not"
            return Turn("K2", measured, "rotary on the wrong axis: the angle changes with the head", site, head)
    return None
