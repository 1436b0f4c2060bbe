"""scale: scores are multiplied with 1/√width once, or with what was declared."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from statistics import median
from typing import TYPE_CHECKING, Any

from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.numbers.factors import Sizes, alike, cause
from edgewise.checks.numbers.products import multiplied, produced
from edgewise.checks.numbers.projections import ROUGHLY, projection
from edgewise.checks.numbers.weighing import apart, slopes, steepest, weighed
from edgewise.checks.properties.examples.scale import broken, right
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["PROPERTY"]

NAME = "scale"
GENTLE = 0.05
"""Queries are made this small, so that a cap on the scores does not bend them."""
DECLARED = "declared"
STRAIGHT = 1e-2
"""Scores that rise with query · key but for this share are a multiple of it."""


@dataclass(frozen=True)
class _Measured:
    """The factor at one place on one route."""

    route: Route
    got: float
    wanted: float | None
    """None where nobody says."""
    said: str
    """Who says so."""
    sizes: Sizes
    steps: tuple[float, ...] = ()
    site: str = ""
    head: int | None = None
    doubtful: bool = False
    """Whether queries or keys are normalised, so that any factor may be meant."""

    @property
    def right(self) -> bool:
        return self.wanted is None or alike(self.got, self.wanted)


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield routes on which the factor is not what it should be."""
    found: list[_Measured] = []
    whys: list[str] = []
    for route in _routes(lab):
        try:
            several = _function(lab, route) if lab.subject.reads == "qkv" else _module(lab, route)
        except (Refused, Skip) as why:
            whys.append(str(why))
            continue
        found += several
    if not found:
        raise Skip(whys[0] if whys else "no attention was seen whose scores could be compared with query · key")
    wrong = [one for one in found if not one.right]
    left = [one for one in wrong if not _by_logarithm(one, found)]
    for route in dict.fromkeys(one.route for one in left):
        yield _observed(next(one for one in left if one.route == route), found)
    if wrong and not left:
        raise Skip("scores grow with the logarithm of the number of keys, and nobody says with which factor")


def _observed(one: _Measured, found: list[_Measured]) -> Observation:
    sizes, wanted = one.sizes, one.wanted or one.sizes.width**-0.5
    varies = _varies(one, found)
    kind, likely = cause(one.got, wanted, sizes, list(one.steps), varies=varies)
    others = [each for each in found if (each.site, each.head) == (one.site, one.head) and not alike(each.got, one.got)]
    ways = [each for each in others if each.right and _same_lengths(each, one)]
    if ways and not varies:
        kind = "I4"
        likely = f"this way does not take the scale that {ways[0].route} uses ({ways[0].got:.4g}): {likely}"
    return Observation(
        *(NAME, kind, one.route, f"query · key is multiplied with {one.got:.4g}"),
        f"{wanted:.4g} ({one.said})",
        likely,
        one.site,
        one.head,
        size=one.got / wanted,
        warning=one.doubtful,
    )


def _by_logarithm(one: _Measured, found: list[_Measured]) -> bool:
    """Whether the factor is as the logarithm of the number of keys, at this number and another.

    So scores keep their sharpness in texts longer than those of training (Scalable-Softmax); no mistake grows so.
    """
    here = [each for each in found if (each.site, each.head) == (one.site, one.head)]
    like = [each for each in here if each.sizes.key == one.sizes.key and alike(each.got, one.got)]
    return one.said != DECLARED and any(
        other.route == each.route
        and other.sizes.key != each.sizes.key
        and alike(each.got * log(other.sizes.key), other.got * log(each.sizes.key))
        for each in like
        for other in here
        if min(each.sizes.key, other.sizes.key) > 1
    )


def _same_lengths(one: _Measured, other: _Measured) -> bool:
    return (one.sizes.query, one.sizes.key) == (other.sizes.query, other.sizes.key)


def _varies(one: _Measured, found: list[_Measured]) -> bool:
    """Whether the factor changes with the lengths alone, on the same route."""
    same = [each for each in found if (each.route, each.site, each.head) == (one.route, one.site, one.head)]
    return any(not alike(each.got, one.got) for each in same)


def _routes(lab: "Lab") -> list[Route]:
    return [
        route
        for route in lab.where(packed=False, training=False, contiguous=True)
        if route.dtype is None and len(route.cached) <= 2 and not (route.batch == 1 and route.mask != "none")
    ]


def _function(lab: "Lab", route: Route) -> Iterator[_Measured]:
    if route.cached:
        return
    for length in (lab.length, lab.length + 3):
        given = _gentle(lab.given(route, length=length))
        found = weighed(lab, given, route)
        rising = slopes(found) if not apart(lab, found, route) else steepest(found)
        each = [(head, one) for head, one in enumerate(rising) if one is not None and one.off < STRAIGHT]
        if not each:
            raise Skip("what weights share out does not rise with query · key")
        _, heads, query, width = given.tokens.shape
        sizes = Sizes(width, heads, query, found.raw.shape[3], given.batch)
        wanted, said = _declared(lab, width)
        middle = median(one.scale for _, one in each)
        alone = next((head for head, one in each if not alike(one.scale, middle)), None)
        got = middle if alone is None else next(one.scale for head, one in each if head == alone)
        yield _Measured(route, got, wanted, said, sizes, head=alone)


def _gentle(given: Given) -> Given:
    """Small queries, and the same keys for all heads, so that neither a cap nor the sharing of heads bends scores."""
    assert given.key is not None
    spread = given.key[:, :1].expand_as(given.key).contiguous()
    return given.replace(tokens=given.tokens * GENTLE, key=spread)


def _declared(lab: "Lab", width: int) -> tuple[float, str]:
    if lab.declared.scale is not None:
        return lab.declared.scale, DECLARED
    return width**-0.5, f"1/√width, and a head has width {width}"


def _module(lab: "Lab", route: Route) -> Iterator[_Measured]:
    for length in (lab.length, lab.length + 3):
        if length != lab.length and (route != lab.plain or (lab.subject.longest or length) < length):
            continue
        given = lab.given(route, length=length)
        try:
            calls = [one for one in lab.calls(route, given) if not one.problem]
        except Refused:
            if length == lab.length:
                raise
            continue  # it takes lengths of one kind alone, as multiples of a block
        deep = bool(calls) and not route.cached and not lab.subject.library
        products = produced(lab, given, route) if deep else []
        steps = tuple(multiplied(lab, given, route)) if deep else ()
        for site in dict.fromkeys(one.site for one in calls):
            seen = next(one for one in calls if one.site == site)
            if not _of_means(seen, products):
                yield _at(lab, route, seen, _before(seen, products), steps)


def _of_means(seen: "Seen", products: list[Any]) -> bool:
    """Whether tokens are compared with means of tokens: what was multiplied into those before shows nowhere."""
    if not products or seen.query.shape[2] == seen.key.shape[2]:
        return False
    return (projection(seen.query, products) is None) != (projection(seen.key, products) is None)


def _before(seen: "Seen", products: list[Any]) -> tuple[float, bool]:
    """What queries and keys were multiplied with before attention saw them, and whether that is known but roughly."""
    factor, rough = 1.0, False
    for vectors in (seen.query, seen.key):
        found = projection(vectors, products, roughly=True)
        if found is None or alike(found.factor, 1) or (found.rounded and abs(found.factor - 1) < ROUGHLY):
            continue
        factor *= found.factor
        rough = rough or found.rounded
    return factor, rough


def _at(lab: "Lab", route: Route, seen: "Seen", multiplied: tuple[float, bool], steps: tuple[float, ...]) -> _Measured:
    before, rough = multiplied
    got = seen.scale * before
    batch, heads, query, width = seen.query.shape
    sizes = Sizes(width, heads, query, seen.key.shape[2], batch, lab.subject.width)
    normed = _normed(seen.query) or _normed(seen.key)
    wanted, said = _declared(lab, width)
    if rough and abs(got / wanted - 1) < ROUGHLY:
        got = wanted
    doubtful = normed and lab.declared.scale is None
    if lab.declared.scale is None and not alike(got, wanted):
        own = _own(lab, seen, got)
        if own:
            return _Measured(route, got, got, own, sizes, steps, seen.site)
        doubtful = doubtful or lab.subject.library == "transformers"
    steps = steps if before == 1 else (*steps, seen.scale)
    return _Measured(route, got, wanted, said, sizes, steps, seen.site, doubtful=doubtful)


def _normed(vectors: Tensor) -> bool:
    """Whether all vectors of a head are of one length: then they were normalised."""
    lengths = vectors.double().norm(dim=-1)
    return bool((lengths.std(-1) <= 1e-3 * lengths.mean(-1)).all()) and vectors.shape[2] > 2


def _own(lab: "Lab", seen: "Seen", got: float) -> str:
    """Who in a model of the library says that this factor is meant: its module, its config, or nobody, as in T5."""
    if lab.subject.library != "transformers":
        return ""
    module = lab.subject.module
    owner = None if module is None else dict(module.named_modules()).get(seen.site)
    for who, values in (("its module", vars(owner) if owner is not None else {}), ("its config", _config(lab))):
        for name, value in values.items():
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and value > 0
                and _made(got, float(value))
            ):
                return f"{who} says {name}={value:g}"
    return "no scale, as its config says nothing of one" if alike(got, 1) else ""


def _config(lab: "Lab") -> dict[str, Any]:
    config = lab.subject.config
    if config is None:
        return {}
    return {
        name: value
        for name, value in config.to_dict().items()
        if any(word in name for word in ("scal", "multiplier", "pre_attn", "head_dim"))
    }


def _made(got: float, value: float) -> bool:
    return any(alike(got, one) for one in (value, 1 / value, value**-0.5, value**-1.5))


PROPERTY = Property(
    name=NAME,
    says="Query · key is multiplied with 1/√width of a head, once, on every route, or with what was declared.",
    why=(
        "Shapes do not tell a wrong factor: with the model's width in place of the head's, or the factor used"
        " twice, every head is flatter than it was meant to be and learns more slowly; without any, or with "
        "the inverse, it looks at one key and its gradient vanishes. Trained weights that are used with "
        "another factor are wrong."
    ),
    assumes=(
        "1/√width is meant for functions and layers unless another scale is declared; models of the "
        "transformers library say it in their config or module. A cap on the scores, a bias and rotary "
        "positions change nothing of it; where queries or keys are normalised first, another factor is only "
        "worth a look."
    ),
    kinds={
        "I1": "made of another size than the head's width",
        "I2": "used twice",
        "I3": "inverse, constant or missing",
        "I4": "not taken by one of several ways through the code",
    },
    references=(
        "lucidrains/vit-pytorch#65",
        "karpathy/ng-video-lecture#6",
    ),
    examine=examine,
    broken=broken,
    right=right,
)
