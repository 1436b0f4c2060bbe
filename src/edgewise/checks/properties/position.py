"""position: where a token stands is told to attention in the right tensor, along the right axis, without rounding."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.numbers.weighing import weighed
from edgewise.checks.properties.distance import LEAST, Bent, bent, bias_of, uneven
from edgewise.checks.properties.examples.position import broken, right
from edgewise.checks.properties.left_padding import shifted
from edgewise.checks.properties.turned import Turn, far, near, same_token, varies
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["PROPERTY"]

NAME = "position"
TURN = "queries and keys turned by their own position, so that a score depends on the distance alone"


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield routes on which positions are wrong."""
    if lab.subject.reads in ("pixels", "features"):
        raise Skip("it reads no sequence of tokens")
    looked, whys = 0, list[str]()
    for route in _routes(lab):
        try:
            found = _function(lab, route) if lab.subject.reads == "qkv" else _module(lab, route)
        except (Refused, Skip) as why:
            whys.append(str(why))
            continue
        looked += 1
        if found is not None:
            yield found
    for found in shifted(lab):
        looked += 1
        if found is not None:
            yield found
    if not looked:
        raise Skip(whys[0] if whys else "the target takes no route without padding")


def _routes(lab: "Lab") -> list[Route]:
    return [
        route
        for route in lab.where(cached=(), packed=False, training=False, contiguous=True, mask=lab.plain.mask)
        if route.batch > 1 and route not in lab.mixing and route.dtype not in ("float32", "float64")
    ]


def _function(lab: "Lab", route: Route) -> Observation | None:
    """A function with queries of zeros: what its weights then differ by is a bias."""
    if route.dtype is not None:
        raise Skip("a bias is looked at in the function's own dtype")
    given = lab.given(route)
    found = weighed(lab, given.replace(tokens=torch.zeros_like(given.tokens)), route)
    weights = found.weights[0]
    if float((found.weights - found.weights[:1]).abs().nan_to_num(0).max()) > 1e-6:
        raise Skip("with queries of zeros its weights are still made of keys: it is no softmax of query · key")
    if not bool(weights.isfinite().all()) or weights.shape[-1] != weights.shape[-2]:
        raise Skip("with queries of zeros its weights are no numbers")
    return _biased(lab, route, bent(weights.clamp_min(1e-300).log(), weights > 1e-30, whole=False), "")


def _module(lab: "Lab", route: Route) -> Observation | None:
    if route.dtype in ("bfloat16", "float16"):
        if lab.subject.dtype == torch.float64:
            raise Skip("a model in float64 is not meant for half precision")
        _, turns = near(lab, lab.plain)
        return _said(lab, route, far(lab, route)) if turns else None
    turn, turns = near(lab, route)
    if turn is None and turns and route == lab.plain:
        turn = far(lab, route)
    if turn is not None:
        return _said(lab, route, turn)
    for seen in lab.calls(route):
        bias = bias_of(seen)
        wrong = None if bias is None else _of_what_is_read(lab, route, seen) if _read(seen) else bent(*bias)
        found = _biased(lab, route, wrong, seen.site)
        if found is not None:
            return found
    return _by_row(lab, route) or (_unordered(lab, route) if route == lab.plain else None)


def _read(seen: "Seen") -> bool:
    """Whether a bias is not the same for all sequences: then it is made of what is read, and no mere distance."""
    bias, allowed = seen.bias, seen.allowed
    if bias is None or bias.shape[0] == 1:
        return False
    both = (allowed & allowed[:1]).expand_as(bias)
    return float((bias - bias[:1]).masked_fill(~both, 0).nan_to_num(0, 0, 0).abs().max()) > LEAST


def _of_what_is_read(lab: "Lab", route: Route, seen: "Seen") -> Bent | None:
    """Of a bias that is made of queries and keys: where all of them are alike, the distance alone may change it."""
    given = same_token(lab.given(route))
    same = next((one for one in lab.calls(route, given) if one.site == seen.site), None)
    bias = None if same is None else bias_of(same)
    if same is None or bias is None or varies(same.query) or varies(same.key):
        return None
    return uneven(*bias)


def _said(lab: "Lab", route: Route, turn: Turn | None) -> Observation | None:
    if turn is None:
        return None
    # A target that nobody uses in half precision need not be exact there.
    doubtful = lab.subject.library == "transformers" or (turn.kind == "K3" and route.dtype is not None)
    return Observation(NAME, turn.kind, route, turn.measured, TURN, turn.likely, turn.site, turn.head, warning=doubtful)


def _biased(lab: "Lab", route: Route, found: Bent | None, site: str) -> Observation | None:
    if found is None:
        return None
    if lab.subject.library == "transformers" and found.doubtful:
        return None  # a bias of several axes, or of what is read, is by design there
    doubtful = lab.subject.library == "transformers" or (found.doubtful and _learned(lab))
    return Observation(
        NAME, "K5", route, found.measured, found.expected, found.likely, site, found.head, warning=doubtful
    )


def _learned(lab: "Lab") -> bool:
    """Whether a bias may have been learned: then it is whatever it is."""
    module = lab.subject.module
    names = [] if module is None else [name for name, _ in module.named_parameters()]
    return any(re.search(r"rel|table|pos|alibi|slope|bias_", name.lower()) for name in names)


def _by_row(lab: "Lab", route: Route) -> Observation | None:
    """Rows of a batch that hold the same tokens must give the same."""
    if route.dtype is not None or lab.subject.random:
        return None
    given = lab.given(route)
    same = given.rows([0] * given.batch)
    out = lab.answer(same, route).out
    apart = lab.close(out[:1].expand_as(out), out, route)
    if apart is None or lab.influence(route).mixed > lab.influence(route).noise:
        return None
    return Observation(
        *(NAME, "K2", route, f"rows of a batch that hold the same tokens differ by {apart:.3g}"),
        "the same outputs for the same tokens",
        "positions run along the batch in place of the sequence",
        size=apart,
    )


def _unordered(lab: "Lab", route: Route) -> Observation | None:
    """Whether order matters at all, where that was declared."""
    if not lab.declared.positions or not lab.subject.finite:
        return None
    given = same_token(lab.given(route))
    tokens = lab.given(route).tokens.clone()
    tokens[:, [0, 1]] = tokens[:, [1, 0]]
    before, after = lab.answer(lab.given(route), route).out, lab.answer(given.replace(tokens=tokens), route).out
    if lab.close(before[:, -1], after[:, -1], route) is not None:
        return None
    return Observation(
        *(NAME, "K2", route, "with the first two tokens exchanged, the last output is the same"),
        "another output: the order of tokens matters",
        "positions reach no score: they are not used, or run along another axis than the sequence",
    )


PROPERTY = Property(
    name=NAME,
    says="Positions run along the axis of tokens, turn queries and keys alone, and count real tokens.",
    why=(
        "A rotation of the wrong pairs, of the wrong tensor or along the wrong axis has a legal shape and "
        "trains; the model then knows order badly or not at all, and weights that were trained otherwise are "
        "wrong. Position ids that count pads shift every sequence of a batch that is padded on the left."
    ),
    assumes=(
        "Both rotary pairings are right where they are used throughout; models without positions are right. "
        "Positions may be added, turned, or a bias; a temperature that grows with the position is by design. "
        "Float32 angles are exact enough."
    ),
    kinds={
        "K1": "rotary positions turn the wrong pairs or the wrong tensor",
        "K2": "positions run along another axis than the tokens",
        "K3": "rotary angles lose their digits far away or in half precision",
        "K4": "position ids count pads",
        "K5": "a bias by distance has the wrong values",
    },
    references=(
        "unslothai/unsloth#4100",
        "ndif-team/nnsight#673",
        "EleutherAI/gpt-neox#834",
        "naver/croco#3",
    ),
    examine=examine,
    broken=broken,
    right=right,
)
