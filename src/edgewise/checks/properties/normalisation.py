"""normalisation: each query shares out exactly one whole among the keys that it may read."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.numbers.products import produced, raised, shares
from edgewise.checks.numbers.weighing import Weighed, slopes, weighed
from edgewise.checks.properties.bare_scores import bare
from edgewise.checks.properties.empty_rows import poisoned
from edgewise.checks.properties.examples.normalisation import broken, right
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

NAME = "normalisation"
ONE = "the weights of each query that sees a key sum to 1"
ODD = 7
"""A length that no width or number of heads has."""
ROUNDED = 16
"""Roundings of a weight: of its score, its exponential, the sum and the quotient, each at a size of a few ones."""
FINE = 256 * torch.finfo(torch.float32).eps
"""Weights are made in float32 as a rule, whatever a function is called with, so that none are finer than that."""
COARSE = 1e-3
"""What a module's weights may be off by: less is an epsilon in the denominator."""
NO_SOFTMAX = 0.1
"""Where so much of the logarithm of the weights does not rise with query · key, they are no softmax of it."""

_AXIS = "the softmax runs over {}, not over the keys"
_TEXTS = (
    (r"over the queries", "H1", _AXIS.format("the queries")),
    (r"over heads or sequences", "H1", _AXIS.format("heads or sequences")),
    (
        r"set to zero after the softmax",
        "H2",
        "the mask is applied after the softmax, and what is left is not divided again",
    ),
    (r"two softmaxes", "H4", "a softmax of a softmax: the second flattens what the first has shared out"),
    (r"a sum of others|numbers of their own after", "H4", "divided by a sum that is not the row's own"),
)


class _Fault(NamedTuple):
    kind: str
    measured: str
    likely: str
    site: str = ""
    head: int | None = None
    query: int | None = None
    size: float = float("nan")


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield what is not normalised, one observation a route and kind."""
    looked, whys = 0, list[str]()
    if lab.subject.random:
        raise Skip("it draws random numbers in evaluation, so that no two answers can be compared")
    for route in _routes(lab):
        try:
            found = _function(lab, route) if lab.subject.reads == "qkv" else _module(lab, route)
        except (Refused, Skip) as why:
            whys.append(str(why))
            continue
        looked += 1
        if found is not None:
            yield Observation(
                *(NAME, found.kind, route, found.measured, ONE, found.likely, found.site),
                head=found.head,
                query=found.query,
                size=found.size,
            )
    for one in poisoned(lab):
        looked += 1
        if one is not None:
            yield one
    if not looked:
        raise Skip(whys[0] if whys else "the target takes no route without a cache")


def _routes(lab: "Lab") -> list[Route]:
    return [
        route
        for route in lab.where(cached=(), packed=False, training=False, contiguous=True)
        if route.dtype is None and not (route.batch == 1 and route.mask != "none")
    ]


def _function(lab: "Lab", route: Route) -> _Fault | None:
    given = lab.given(route)
    assert given.key is not None
    found = weighed(lab, given.replace(key=given.key[:, :1].expand_as(given.key)), route)
    totals, seeing = found.totals, found.seeing & ~found.totals.isnan()
    off = (totals - 1).abs().masked_fill(~seeing, 0)
    if float(off.max()) <= _bar(given.tokens.dtype, FINE) or lab.declared.sinks:
        return _twice(found)
    batch, head, query = (int(one) for one in (off == off.max()).nonzero()[0])
    measured = f"with all values 1, head {head} gives {float(totals[batch, head, query]):.4g} at row {query}"
    told = _told(found, measured)
    each = [one.off for one in slopes(found) if one is not None]
    if told[0] != "H1" and each and min(each) > NO_SOFTMAX:
        raise Skip("its weights are no softmax of query · key")
    return _Fault(*told, "", head, query, float(off.max()))


def _twice(found: Weighed) -> _Fault | None:
    """Whether the weights went through a second softmax, which leaves them summing to one."""
    scores = found.raw * found.given.tokens.shape[-1] ** -0.5
    hidden = found.weights == 0
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + scores.shape[-1] - scores.shape[-2])
    for first in (hidden, hidden | future):
        again = scores.masked_fill(first, -torch.inf).softmax(-1).masked_fill(hidden, -torch.inf).softmax(-1)
        if float((again - found.weights).abs().nan_to_num(1).max()) < 1e-5 and bool((found.seeing.sum(-1) > 1).any()):
            break
    else:
        return None
    return _Fault("H4", "the weights are a softmax of a softmax of the scores", _TEXTS[3][2])


def _bar(dtype: torch.dtype, least: float) -> float:
    """How far a sum of weights may be from 1: by what their own dtype rounds, and by what no one would mind."""
    return max(least, ROUNDED * torch.finfo(dtype).eps) if dtype.is_floating_point else least


def _told(found: Weighed, measured: str) -> tuple[str, str, str]:
    """The kind of a fault whose rows do not sum to one, what was measured, and the likely cause."""
    weights, totals = found.weights.nan_to_num(0), found.totals[found.seeing]
    if float((totals - totals.mean()).abs().max()) < 1e-6:
        return "H4", measured, _denominator(found)
    axes = {"the queries": (2,), "the heads": (1,), "the sequences": (0,), "queries and keys at once": (2, 3)}
    for name, axis in axes.items():
        sums = weights.sum(axis)
        there = (weights != 0).any(axis[-1]) if len(axis) == 1 else sums > 0
        if bool(there.any()) and float((sums - 1).abs().masked_fill(~there, 0).max()) < 1e-4:
            return "H1", f"{measured}; summed over {name} the weights are 1", _AXIS.format(name)
    everything = _whole(found)
    if everything is None or not bool((weights == 0).any()):
        return "H4", measured, _denominator(found)
    if float((weights - everything).abs().masked_fill(weights == 0, 0).max()) < 1e-4:
        return "H2", measured, _TEXTS[2][2]
    return "H4", measured, _denominator(found)


def _whole(found: Weighed) -> Tensor | None:
    """The weights, were no key hidden: a softmax of the scores over all of them."""
    each = slopes(found)
    if any(one is None or one.off > 1e-3 for one in each):
        return None
    scales = torch.tensor([one.scale for one in each if one is not None], dtype=torch.float64)
    return (found.raw * scales[:, None, None]).softmax(-1)


def _denominator(found: Weighed) -> str:
    totals = found.totals[found.seeing]
    keys = found.weights.shape[3]
    if float((totals - totals.mean()).abs().max()) < 1e-6:
        return f"every row is multiplied with {float(totals.mean()):.4g}" + (
            f" = 1/{keys}, the number of keys" if abs(float(totals.mean()) * keys - 1) < 1e-4 else ""
        )
    if bool((totals < 1).all()):
        return "something more than the row's own keys is in the denominator, such as hidden keys or a 1"
    return "divided by something else than the sum of the row's own exponentials"


def _module(lab: "Lab", route: Route) -> _Fault | None:
    subject = lab.subject
    if subject.reads in ("pixels", "features") or lab.declared.sinks:
        raise Skip("weights may sum to less than one by design" if lab.declared.sinks else "it reads no sequence")
    calls, texts = lab.calls(route), lab.unexplained(route)
    if any(one.sinks is not None for one in calls) or _has_sinks(lab):
        raise Skip("it has sinks: weights sum to less than one by design")
    given = lab.given(route, length=ODD)
    keys = sorted({ODD, given.memory.shape[1] if given.memory is not None and given.memory.dim() > 1 else ODD})
    if not calls and not texts:
        return _unseen(lab, route, given, keys)
    by_hand = bool(texts) or any("written" in one.route_name for one in calls)
    sums = _real(
        given, [one for key in keys for one in shares(produced(lab, given, route), ODD, key)] if by_hand else []
    )
    off = max((_off(one) for one in sums), default=0.0)
    for site, why in texts.items():
        fault = next(((kind, likely) for text, kind, likely in _TEXTS if re.search(text, why)), None)
        if fault is not None and (off > COARSE or "two softmaxes" in why):
            return _Fault(fault[0], _measured(sums, off), fault[1], site, size=off)
    if off > COARSE and calls and not texts:
        return _Fault("H4", _measured(sums, off), "weights are changed after their softmax", calls[0].site, size=off)
    return _same_token(lab, route, next(iter(texts))) if texts else _returned(lab, route)


def _unseen(lab: "Lab", route: Route, given: Given, keys: list[int]) -> _Fault | None:
    """Two products between which no softmax was recognised: none at all, or one with another denominator."""
    products = produced(lab, given, route)
    taken = [key for key in keys if raised(lab, given, route, ODD, key)]
    if not taken and not lab.subject.library and any(bare(products, ODD, key, given.batch) for key in keys):
        likely = "there is no softmax between scores and values"
        return _Fault("H4", "values are multiplied with query · key as it is", likely)
    sums = _real(given, [one for key in taken for one in shares(products, ODD, key)])
    if max((_off(one) for one in sums), default=0.0) <= COARSE:
        raise Skip("no softmax between two products was seen")
    return _same_token(lab, route, "")


def _real(given: Given, sums: list[Tensor]) -> list[Tensor]:
    """Weights with nothing in the rows of pads: one that may read nothing at all may weigh anything."""
    if given.keep is None:
        return sums
    pads = ~given.keep.all(0)[:, None]
    return [one.masked_fill(pads.to(one.device), 0) for one in sums]


def _off(weights: Tensor) -> float:
    """How far from 1 a row sums to; 0 where its own dtype's rounding explains it."""
    totals = weights.double().sum(-1)
    off = float((totals - 1).abs().masked_fill((totals == 0) | totals.isnan(), 0).max())
    return off if off > _bar(weights.dtype, COARSE) else 0.0


def _measured(sums: list[Tensor], off: float) -> str:
    worst = max(sums, key=_off, default=None)
    if worst is None or off <= COARSE:
        return "the weights are not a softmax of the scores along the keys"
    totals = worst.double().sum(-1)
    at = int((totals - 1).abs().flatten().argmax())
    return f"the weights of row {at % totals.shape[-1]} sum to {float(totals.flatten()[at]):.4g}"


def _same_token(lab: "Lab", route: Route, site: str) -> _Fault | None:
    """The same token everywhere: then all outputs are the same, and those of one token alone, if weights sum to one."""
    if _names(lab, r"pos|wpe|emb|sinusoid|conv|shift"):
        raise Skip("its attention is not understood, and the same token at two places may differ by position")
    if route.mask in ("left", "right"):
        raise Skip("its attention is not understood, and rows are padded")
    given = lab.given(route, length=ODD)
    same = given.replace(tokens=given.tokens[:, :1].expand_as(given.tokens).contiguous())
    out, alone = lab.answer(same, route).out, lab.answer(same.cut(1), route).out
    apart = lab.close(out, alone.expand_as(out), route, given=same)
    if apart is None:
        return None
    measured = f"with the same token everywhere, {ODD} tokens give what differs by {apart:.3g} from one token alone"
    return _Fault(
        "H4", measured, "divided by something else than the sum of the row's own exponentials", site, size=apart
    )


def _returned(lab: "Lab", route: Route) -> _Fault | None:
    """The weights that are given back."""
    given = lab.given(route)
    weights = lab.answer(given, route).weights if route.weights and lab.subject.kind == "layer" else None
    if weights is None or not bool((weights >= 0).all()):
        return None
    totals = weights.double().sum(-1)
    bad = (totals - 1).abs().masked_fill((totals == 0) | totals.isnan(), 0)
    if float(bad.max()) <= _bar(weights.dtype, COARSE):
        return None
    columns = weights.double().sum(-2)
    if float((columns - 1).abs().max()) < 1e-3:
        return _Fault("H1", "the weights that are returned sum to one over the queries", _AXIS.format("the queries"))
    return None  # what is returned need not be what is used


def _has_sinks(lab: "Lab") -> bool:
    return _names(lab, r"sink|register")


def _names(lab: "Lab", pattern: str) -> bool:
    module = lab.subject.module
    if module is None:
        return False
    names = [name for name, _ in (*module.named_modules(), *module.named_parameters(), *module.named_buffers())]
    kinds = [type(one).__name__ for one in module.modules()]
    return any(re.search(pattern, name.lower()) for name in (*names, *kinds) if name)


PROPERTY = Property(
    name=NAME,
    says="The weights of a query that sees a key sum to one along the keys; a query that sees none harms nobody.",
    why=(
        "A softmax over another axis, a mask applied after it, or a sum that is not the row's own gives "
        "outputs that are no averages: their size depends on the length, hidden keys are felt through the "
        "denominator. A row without any key becomes NaN in a plain softmax, and one such row makes the "
        "gradient of every parameter NaN."
    ),
    assumes=(
        "Weights are a softmax; sinks, where weights sum to less by design, are declared or seen as such. "
        "Dropout is off. Rows without a key may give zeros or anything finite."
    ),
    kinds={
        "H1": "the softmax runs over another axis than the keys",
        "H2": "the mask is applied after the softmax",
        "H3": "a row without any key gives NaN, forward or backward, to itself or to others",
        "H4": "the denominator is not the sum of the row's own exponentials",
    },
    references=(
        "labmlai/annotated_deep_learning_paper_implementations#146",
        "FudanNLP/fastNLP#254",
        "pytorch/pytorch#42929",
        "Dao-AILab/flash-attention#1778",
    ),
    examine=examine,
    broken=broken,
    right=right,
)
