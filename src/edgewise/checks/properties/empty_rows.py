"""A query without any key (H3): what it gives, and whom it poisons, forward and backward."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation
from edgewise.checks.properties.pulled import pulled

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["poisoned"]

FINITE = "a query that sees no key harms no other, forward or backward"
SOFTMAX = "the softmax of a row of −∞ is NaN: give such a row zeros, or let it see itself"
BACKWARD = "NaN is replaced in the output only: the softmax before it still has a NaN gradient"


def poisoned(lab: "Lab") -> list[Observation | None]:
    """Return, for each route on which a query may be left without a key, whom its NaN harms; None for nobody."""
    found: list[Observation | None] = []
    if not lab.subject.finite:
        return found
    for route in lab.where(cached=(), packed=False, contiguous=True):
        if route.dtype is not None:
            continue  # in half precision what is hidden may overflow, which is another fault
        try:
            found += [_square(lab, route) if lab.subject.reads == "qkv" else _padded(lab, route)]
        except Refused:
            continue
    return found


def _square(lab: "Lab", route: Route) -> Observation | None:
    """A function that is given a mask in which one query may read nothing."""
    given = lab.given(route)
    if lab.subject.square_mask is None:
        return _emptied(lab, route, given)
    keys = given.value.shape[2] if given.value is not None else given.length
    allowed = given.allowed.clone() if given.allowed is not None else torch.ones(given.length, keys, dtype=torch.bool)
    row = given.length // 2
    allowed[row] = False
    others = torch.arange(given.length) != row
    return _judged(lab, route, given.replace(allowed=allowed), others.expand(given.batch, -1), f"row {row} sees no key")


def _padded(lab: "Lab", route: Route) -> Observation | None:
    """Padding on one side: a causal query among pads on the left sees no key."""
    if lab.subject.mask is None or route.mask not in ("left", "right", "ones"):
        return None
    given = lab.given(route)
    if given.keep is None:
        return None
    if route.mask == "ones":
        return _emptied(lab, route, given)
    return _judged(lab, route, given, given.keep, f"padding on the {route.mask}")


def _emptied(lab: "Lab", route: Route, given: Given) -> Observation | None:
    """A sequence of pads alone: nobody means anything by its outputs, but a target that takes it must bear it."""
    if given.keep is None or given.batch < 2 or route.training:
        return None
    keep = given.keep.clone()
    keep[-1] = False
    found = _judged(lab, route, given.replace(keep=keep), keep, "one sequence is padding throughout")
    return found if found is not None and found.likely == BACKWARD else None


def _judged(lab: "Lab", route: Route, given: Given, real: Tensor, what: str) -> Observation | None:
    whole = lab.given(replace(route, mask="ones") if route.mask in ("left", "right") else route)
    given, leaves = _leaves(given)
    out = lab.answer(given, route, gradient=True).out
    rows = out.isfinite().all(-1)
    rows = rows.all(1) if rows.dim() == 3 else rows
    if rows.shape != real.shape or not bool(lab.answer(whole, route).out.isfinite().all()):
        return None
    real = real.to(rows.device)
    if not bool(rows[real].all()):
        at = (~rows & real).nonzero()[0].tolist()
        return _said(
            route, f"{what}: outputs of real tokens are NaN, row {at[1]} of sequence {at[0]} the first", SOFTMAX
        )
    if not bool(rows.all()):
        at = (~rows).nonzero()[0].tolist()
        spread = _spread(lab, leaves, out, real)
        if not spread:
            return None  # what a pad gives matters to nobody
        more = f"{spread} as well, though the loss is of the others alone"
        return _said(route, f"{what}: row {at[1]} of sequence {at[0]} is NaN; {more}", SOFTMAX)
    spread = _spread(lab, leaves, out, real)
    return _said(route, f"{what}: the output is finite, but {spread}", BACKWARD) if spread else None


def _leaves(given: Given) -> tuple[Given, dict[str, Tensor]]:
    names = ("tokens", "key", "value", "memory")
    leaves = {
        f"the gradient of {name}": one.detach().clone().requires_grad_(True)
        for name in names
        if isinstance(one := getattr(given, name), Tensor) and one.is_floating_point()
    }
    return given.replace(**{name.rpartition(" ")[2]: one for name, one in leaves.items()}), leaves


def _spread(lab: "Lab", leaves: dict[str, Tensor], out: Tensor, real: Tensor) -> str:
    """Which gradient of a loss over real tokens is NaN; "" for none."""
    module = lab.subject.module
    named = dict(leaves)
    if module is not None:
        named = {f"the gradient of {name}": one for name, one in module.named_parameters() if one.requires_grad} | named
    chosen = out[real] if out.dim() == 3 else out.transpose(1, 2)[real]
    try:
        got = pulled(chosen.square().sum(), list(named.values()))
    except Refused:
        return ""
    lost = [name for name, one in zip(named, got, strict=True) if one is not None and not bool(one.isfinite().all())]
    return "" if not lost else f"{lost[0]} is NaN" + (f" ({len(lost)} of {len(named)} are)" if len(lost) > 1 else "")


def _said(route: Route, measured: str, likely: str) -> Observation:
    return Observation("normalisation", "H3", route, measured, FINITE, likely)
