"""Positions beside padding (K4): a sequence must read the same alone and with pads before it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.reading import alone

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["contents_matter", "shifted"]


def shifted(lab: "Lab") -> Iterator[Observation | None]:
    """Yield, for each padded route, what depends on the number of pads and not on what they hold; None where right."""
    if lab.subject.reads not in ("ids", "floats") or lab.subject.random or not lab.subject.finite:
        return
    for mask in ("left", "right"):
        for route in lab.where(mask=mask, packed=False, training=False, contiguous=True):
            if route.dtype is None and route not in lab.mixing:
                try:
                    yield _shifted(lab, route)
                except (Refused, Skip):
                    continue


def _shifted(lab: "Lab", route: Route) -> Observation | None:
    given = lab.given(route)
    assert given.keep is not None
    row = given.batch - 1
    real = given.keep[row]
    pads = int((~real).sum())
    without = alone(given, row, real)
    plain = replace(route, mask=lab.plain.mask, batch=1, cached=_of(route.cached, pads))
    padded, single = lab.answer(given, route).out[row : row + 1, real], lab.answer(without, plain).out
    if single.shape != padded.shape or not bool(padded.isfinite().all()):
        return None
    apart = lab.close(padded, single, route)
    if apart is None or contents_matter(lab, route, given, row, real):
        return None
    there, here = lab.influence(route, row=row, given=given).moved, lab.influence(plain, given=without).moved
    if not torch.equal(_inner(there, real), here):
        return None  # another set of keys is read: not a matter of positions
    if not lab.expected(route=route).causal or lab.subject.memory is not None:
        return None  # what reads both ways, or beside an encoder, is padded on the right by convention
    return Observation(
        *(
            "position",
            "K4",
            route,
            f"with {pads} pads on the {route.mask}, outputs differ by {apart:.3g} from those alone",
        ),
        "the same outputs: pads move nothing by what they hold, and should not by their number",
        "position ids: they count pads, in place of real tokens (a running sum of the mask, less one)",
        size=apart,
        warning=lab.subject.library == "transformers",
    )


def _of(cached: tuple[int, ...], pads: int) -> tuple[int, ...]:
    """The same way of feeding a cache, of a sequence without its pads."""
    return cached and (max(1, cached[0] - pads), *cached[1:])


def _inner(moved: Tensor, real: Tensor) -> Tensor:
    return moved[real][:, real]


def contents_matter(lab: "Lab", route: Route, given: Given, row: int, real: Tensor) -> bool:
    """Whether what is answered for real tokens moves with what pads hold."""
    tokens = given.tokens.clone()
    if tokens.is_floating_point():
        tokens[row, ~real] += 3 + tokens[row, ~real].abs()
    else:
        most = lab.subject.vocabulary or int(tokens.max()) + 1
        tokens[row, ~real] = (tokens[row, ~real] + 7) % most
    before, after = lab.answer(given, route).out, lab.answer(given.replace(tokens=tokens), route).out
    return lab.close(before[row, real], after[row, real], route) is not None
