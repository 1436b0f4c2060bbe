"""Dropout (L4, L5): off in evaluation, on in training, at its rate, and what is left grown to make up for it."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from edgewise.checks.calls.calling import Refused, answer
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.numbers.products import produced, shares
from edgewise.tracing import trace

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["drawn", "dropped", "random_in"]

NAMES = ("dropout", "dropout_p", "attention_dropout", "attn_dropout", "attn_pdrop", "drop", "p_drop", "p")
COPIES = 48
ODD = 7


def random_in(lab: "Lab", route: Route) -> float:
    """Return how far two answers are apart that start from other random numbers; 0 where they are the same."""
    given = lab.given(route)
    one, other = lab.answer(given, route).out, lab.answer(given, route, seed=1).out
    return lab.close(one, other, route) or 0.0 if one.shape == other.shape else 0.0


def drawn(lab: "Lab") -> Iterator[Observation | None]:
    """Yield ways on which evaluation draws random numbers; None where it does not."""
    for route in lab.where(packed=False, training=False, contiguous=True):
        if route.dtype is not None or (route.batch == 1 and route.mask != "none"):
            continue
        try:
            apart = random_in(lab, route)
        except Refused:
            continue
        if not apart:
            yield None
            continue
        if _remembers(lab, route):
            continue  # it is no chance: something is kept from call to call
        rates = {one.dropout for one in lab.calls(route) if one.dropout}
        told = f": attention drops {max(rates):g} of its weights" if rates else ""
        yield Observation(
            *("path-mismatch", "L4", route, f"two answers in evaluation differ by {apart:.3g}{told}"),
            "the same answer twice",
            "dropout is on in evaluation: its probability does not depend on training"
            if rates or lab.subject.library != "transformers"
            else "it draws random numbers",
            next((one.site for one in lab.calls(route) if one.dropout), ""),
            size=apart,
            warning=lab.subject.library == "transformers" and not rates,
        )


def _remembers(lab: "Lab", route: Route) -> bool:
    """Whether two answers differ that start from the same random numbers."""
    given = lab.given(route)
    one, other = lab.asked(given, route), lab.asked(given, route)
    return one.shape != other.shape or lab.close(one, other, route) is not None


def dropped(lab: "Lab") -> Iterator[Observation | None]:
    """Yield ways through training on which dropout is not what was set; None where it is."""
    module = lab.subject.module
    if module is None or lab.subject.random or lab.subject.reads not in ("ids", "floats") or lab.subject.library:
        return
    rates = _set(module)
    for route in lab.where(training=False, cached=(), packed=False, contiguous=True, mask=lab.plain.mask):
        if route.dtype is None and route.batch > 1:
            try:
                if rates or random_in(lab, replace(route, training=True)):
                    yield _looked(lab, replace(route, training=True), rates)
            except (Refused, Skip):
                continue


def _set(module: nn.Module) -> dict[str, float]:
    """The probabilities of dropout that modules keep, by where they stand."""
    found: dict[str, float] = {}
    for name, one in module.named_modules():
        for key in NAMES:
            value = vars(one).get(key)
            if type(value) is float and 0 < value < 1:
                found[f"{name}.{key}".strip(".")] = value
    return found


def _looked(lab: "Lab", route: Route, rates: dict[str, float]) -> Observation | None:
    given, module = lab.given(route, length=ODD).rows([0] * COPIES), lab.subject.module
    told = ", ".join(f"{name}={value:g}" for name, value in rates.items())
    with trace(module, check="none", copy=True) as run:
        one = answer(lab.subject, given, route, seed=0, dropout=True).out
    other = answer(lab.subject, given, route, seed=1, dropout=True).out
    if torch.equal(one, other):
        return (
            None
            if not rates
            else _said(
                route, "two answers in training are the same", f"dropout at {told}", "dropout is set and never used"
            )
        )
    if "dropped before the softmax" in " ".join(run.unexplained.values()):
        return _said(
            route, "scores are dropped, not weights", f"dropout of weights at {told}", "dropout before the softmax"
        )
    for call in run.calls:
        if rates and call.dropout and not any(abs(call.dropout - value) < 1e-6 for value in rates.values()):
            kept = any(abs(call.dropout - 1 + value) < 1e-6 for value in rates.values())
            likely = (
                "the share that is kept was handed over as the share that is dropped"
                if kept
                else "another rate is used"
            )
            return _said(route, f"attention drops {call.dropout:g} of its weights", told, likely, call.site.name)
    return _by_hand(lab, route, rates, told)


def _by_hand(lab: "Lab", route: Route, rates: dict[str, float], told: str) -> Observation | None:
    """Dropout of weights that meet their values in a product: how many are zero, and what became of the others."""
    given = lab.given(route, length=ODD).rows([0] * COPIES)
    still = replace(route, training=False)
    with_it = [one.double() for one in shares(produced(lab, given, route, dropout=True), ODD, ODD)]
    without = [one.double() for one in shares(produced(lab, given, still), ODD, ODD)]
    if len(with_it) != len(without) or not with_it or with_it[0].shape != without[0].shape:
        return None
    weights, whole = with_it[0], without[0]
    there = whole > 1e-9
    rate = float(((weights == 0) & there).sum()) / max(1, int(there.sum()))
    left = weights[there & (weights > 0)] / whole[there & (weights > 0)]
    if rate < 0.01 or not left.numel() or not _one_factor(left):
        return None
    factor = median(left.tolist())
    if abs(factor * (1 - rate) - 1) > 0.05:
        likely = (
            "what is left is not divided by the share that is kept"
            if abs(factor - 1) < 1e-3
            else "what is left is divided twice, or by something else"
        )
        measured = f"{rate:.2g} of the weights are dropped, and the others multiplied with {factor:.4g}"
        return _said(route, measured, f"multiplied with {1 / (1 - rate):.4g}", likely)
    if rates and all(abs(rate - value) > 0.03 for value in rates.values()):
        return _said(
            route, f"{rate:.2g} of the weights are dropped", told, "dropout has another rate, or is used twice"
        )
    return None


def _one_factor(left: Tensor) -> bool:
    return float(left.max() - left.min()) < 1e-3 * float(left.max())


def _said(route: Route, measured: str, expected: str, likely: str, site: str = "") -> Observation:
    return Observation("path-mismatch", "L5", route, measured, expected, likely, site)
