"""path-mismatch: every way through the code that means the same gives the same."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.lab.statistics import keeps_statistics
from edgewise.checks.properties.dropped import drawn, dropped, random_in
from edgewise.checks.properties.exactly import rounded
from edgewise.checks.properties.examples.path_mismatch import broken, right
from edgewise.checks.properties.recomputed import attributes, recomputed, turned_on
from edgewise.checks.properties.stepped import left_over, stepped
from edgewise.checks.properties.uncounted import uncounted
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

NAME = "path-mismatch"
WAYS = (
    r"fused|flash|fast|eager|sdpa|efficient|impl|backend|kernel|slow|manual|naive|native|math|reference|vector|einsum|"
    r"loop|triton|memory_eff|xformers|checkpoint|chunked|low_mem|optimi[sz]ed|need|return|output|trace|debug|verbose|use_cache"
)
"""Names of switches whose values mean the same attention."""
LOUD, ODD = 30.0, 5


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield routes that differ from another that means the same."""
    looked, random = 0, set[Route]()
    for one in drawn(lab):
        looked += 1
        if one is not None:
            random.add(one.route)
            yield one
    kept = [] if random else list(left_over(lab))
    looked += len(kept)
    yield from (one for one in kept if one is not None)
    if not random and not any(kept):  # else no two answers can be compared
        several = (*stepped(lab), *uncounted(lab), *_beside(lab), *_attributes(lab), *recomputed(lab))
        looked += len(several)
        yield from (one for one in several if one is not None)
    for one in dropped(lab):
        looked += 1
        if one is not None:
            yield one
    if not looked:
        raise Skip("there is one way through its code")


def _beside(lab: "Lab") -> Iterator[Observation | None]:
    """Each route against the one that it should be equal to."""
    if not lab.subject.finite:
        return
    for route in lab.where(cached=(), packed=False):
        other = _equal(lab, route)
        if other is None or route.dtype is not None or route in lab.mixing:
            continue
        lengths = (lab.length, ODD) if route.switches and not route.cached and lab.length != ODD else (lab.length,)
        for length in lengths:  # what goes by blocks or chunks may forget the last, short one
            try:
                found = _compared(lab, route, other, length)
            except (Refused, Skip):
                continue
            yield found
            if found is not None:
                break


def _equal(lab: "Lab", route: Route) -> Route | None:
    """The plainer route that means the same; None where there is none."""
    if route == lab.plain or not all(re.search(WAYS, name.lower()) for name, _ in route.switches):
        return None
    mask = lab.plain.mask if route.mask == "ones" else route.mask
    plain = replace(lab.plain, mask=mask, batch=route.batch)
    if plain == route:
        # Only the number of sequences differs: then a row alone is compared with the same row among others.
        return replace(route, batch=2) if route.batch == 1 and route.mask == lab.plain.mask else None
    return plain


def _compared(lab: "Lab", route: Route, other: Route, length: int) -> Observation | None:
    given, beside = lab.given(route, length=length), lab.given(other, length=length)
    if route.training and keeps_statistics(lab, route):
        return None
    if route.training and (random_in(lab, route) or any(one.dropout for one in lab.calls(route))):
        return None  # its dropout could not be turned off
    one, two = lab.out(given, route), lab.out(beside, other)
    if route.batch != other.batch:
        given, two = beside.row(0), two[:1]
        one = lab.answer(given, route).out
    apart = _apart(lab, given, one, two, route)
    loud = ""
    if apart is not None and rounded(lab, given, route, replace(other, batch=route.batch), given.keep):
        return None
    if apart is None and route.batch == other.batch and given.tokens.is_floating_point():
        apart, loud = _loudly(lab, given, route, other)
    if apart is None:
        return None
    kind = "L7" if any("checkpoint" in name.lower() for name, _ in route.switches) else "L6"
    return Observation(
        *(NAME, kind, route, f"outputs differ by {apart:.3g} from {other}{loud}"),
        "the same outputs",
        _words(route, other),
        size=apart,
    )


def _apart(lab: "Lab", given: Given, one: Tensor, two: Tensor, route: Route) -> float | None:
    """How far real tokens are apart."""
    if one.shape != two.shape:
        return None
    if given.keep is not None and one.dim() == 3:
        real = given.keep.to(one.device)
        one, two = one[real], two[real]
    return lab.close(one, two, replace(route, training=False))


def _loudly(lab: "Lab", given: Given, route: Route, other: Route) -> tuple[float | None, str]:
    """The same with large inputs: one way may overflow where the other does not."""
    loud = given.replace(tokens=given.tokens * LOUD)
    one, two = lab.answer(loud, route).out, lab.answer(loud, other).out
    if given.keep is not None and one.dim() == 3:
        real = given.keep.to(one.device)
        one, two = one[real], two[real]  # what a padded place gives is nobody's concern
    if bool(one.isfinite().all()) == bool(two.isfinite().all()):
        return None, ""
    return float(
        "inf"
    ), f", which gives {'numbers' if bool(two.isfinite().all()) else 'NaN'} for inputs {LOUD:g} times as large"


def _words(route: Route, other: Route) -> str:
    if route.weights and not other.weights:
        return "asking for weights takes another way through the code, which computes something else"
    if route.switches:
        names = ", ".join(f"{name}={value}" for name, value in route.switches)
        return f"the way that {names} takes computes something else"
    if route.backend:
        return f"the {route.backend} implementation computes something else"
    if route.training:
        return "training takes another way, though dropout is zero"
    if not route.contiguous:
        return "it depends on how the input lies in memory: a view in place of a transpose or reshape"
    if route.mask == "ones":
        return "a mask that hides nothing changes something"
    return "it depends on how many sequences there are"


def _attributes(lab: "Lab") -> Iterator[Observation | None]:
    """Switches that the module keeps as attributes, such as `flash`, turned the other way."""
    module = lab.subject.module
    if module is None or lab.subject.library or not lab.subject.finite or lab.subject.random:
        return
    for name, value in attributes(module, r"flash|fused|sdpa|fast|eager|efficient|use_kernel").items():
        for route in [one for one in lab.where(cached=(), packed=False, training=False) if one.dtype is None][:6]:
            given = lab.given(route)
            before = lab.out(given, route)
            try:
                with ExitStack() as undo:
                    turned_on(module, name, not value, undo)
                    after = lab.asked(given, route)
            except Refused:
                continue
            here = replace(route, switches=(*route.switches, (name, not value)))
            apart = _apart(lab, given, before, after, route)
            yield (
                None
                if apart is None
                else Observation(
                    *(NAME, "L6", here, f"outputs differ by {apart:.3g} from {name}={value}"),
                    "the same outputs",
                    f"the way that {name}={not value} takes computes something else",
                    size=apart,
                )
            )


PROPERTY = Property(
    name=NAME,
    says="Every way through the code that means the same attention gives the same outputs.",
    why=(
        "What is trained on one way and served on another must be the same: fused or not, weights asked for "
        "or not, token by token with a cache or all at once, with checkpointing or without. Each of them has "
        "been wrong in public while the others were right, and nothing fails."
    ),
    assumes=(
        "Switches are compared where their names say that they choose an implementation. Rounding is "
        "measured. Dropout is zero where it is not what is looked at, and in evaluation it must be off."
    ),
    kinds={
        "L1": "a step with a cache stands at the wrong position",
        "L2": "the cache holds something else than what was read: lost, stale, or of another text",
        "L3": "the mask of a step with a cache is wrong",
        "L4": "dropout, or other random numbers, in evaluation",
        "L5": "dropout at another rate, without its factor, or never on",
        "L6": "two implementations of the same attention differ",
        "L7": "checkpointing changes outputs or gradients",
    },
    references=(
        "ml-explore/mlx-lm#93",
        "Blaizzy/mlx-vlm#1983",
        "huggingface/transformers#30652",
        "pytorch/pytorch#99282",
        "lucidrains/x-transformers#187",
    ),
    examine=examine,
    broken=broken,
    right=right,
)
