"""Checkpointing (L7): what is thrown away and computed again must be the same, forward and backward."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation
from edgewise.checks.properties.pulled import pulled

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["attributes", "recomputed", "turned_on"]


def attributes(module: nn.Module | None, pattern: str) -> dict[str, bool]:
    """Return the switches that modules keep as attributes whose names fit, each with what it is now."""
    found: dict[str, bool] = {}
    for one in module.modules() if module is not None else ():
        found |= {name: value for name, value in vars(one).items() if type(value) is bool and re.search(pattern, name)}
    return {name: value for name, value in found.items() if name != "training"}


def turned_on(module: nn.Module, name: str, value: bool, undo: ExitStack) -> None:
    """Set an attribute of every module that has it, until the end."""
    for one in module.modules():
        if type(vars(one).get(name)) is bool:
            undo.callback(setattr, one, name, vars(one)[name])
            setattr(one, name, value)


def recomputed(lab: "Lab") -> Iterator[Observation | None]:
    """Yield ways of checkpointing that change outputs or gradients; None where they change nothing."""
    module = lab.subject.module
    if module is None or not lab.subject.finite or lab.subject.random:
        return
    routes = [one for one in lab.where(training=True, cached=(), packed=False) if one.dtype is None]
    for route in routes[:3]:
        for name in attributes(module, r"checkpoint"):
            with ExitStack() as undo:
                yield from _compared(lab, route, name, undo)
    for name, values in lab.subject.switches:
        if "checkpoint" in name and routes:
            here = replace(routes[0], switches=((name, values[1]),))
            try:
                yield from _differ(here, _pulled(lab, routes[0]), _pulled(lab, here), lab)
            except Refused:
                continue


def _compared(lab: "Lab", route: Route, name: str, undo: ExitStack) -> Iterator[Observation | None]:
    module: Any = lab.subject.module
    here = replace(route, switches=((name, True),))
    try:
        turned_on(module, name, False, undo)
        before = _pulled(lab, route)
        if lab.subject.library == "transformers":
            module.gradient_checkpointing_enable()
            undo.callback(module.gradient_checkpointing_disable)
        turned_on(module, name, True, undo)
        after = _pulled(lab, route)
    except (Refused, ValueError, RuntimeError):
        return
    yield from _differ(here, before, after, lab)


def _pulled(lab: "Lab", route: Route) -> tuple[Tensor, dict[str, Tensor]]:
    """The outputs, and the gradient of a loss with respect to everything that learns."""
    given, module = lab.given(route), lab.subject.module
    given, leaves = _leaf(given)
    out = lab.asked(given, route, gradient=True)
    named = {name: one for name, one in module.named_parameters() if one.requires_grad} if module is not None else {}
    named |= leaves
    found = pulled(out.square().sum(), list(named.values()))
    return out.detach(), {name: one for name, one in zip(named, found, strict=True) if one is not None}


def _leaf(given: Given) -> tuple[Given, dict[str, Tensor]]:
    if not given.tokens.is_floating_point():
        return given, {}
    leaf = given.tokens.detach().clone().requires_grad_(True)
    return given.replace(tokens=leaf), {"the input": leaf}


def _differ(
    route: Route, one: tuple[Tensor, dict[str, Tensor]], other: tuple[Tensor, dict[str, Tensor]], lab: "Lab"
) -> Iterator[Observation | None]:
    apart = lab.close(one[0], other[0], replace(route, switches=()))
    measured, size = (f"outputs differ by {apart:.3g}", apart) if apart is not None else ("", 0.0)
    if apart is None:
        for name, first in ((name, first) for name, first in one[1].items() if first.numel()):
            second = other[1].get(name)
            off = float((first - (0 if second is None else second)).abs().max())
            if off > 1e-3 * float(first.abs().max()) + 1e-9:
                measured, size = f"the gradient of {name} differs by {off:.3g}, of {float(first.abs().max()):.3g}", off
                break
    yield (
        None
        if not measured
        else Observation(
            *("path-mismatch", "L7", route, f"{measured} with checkpointing"),
            "the same outputs and gradients",
            "an argument, such as the mask, is not handed on to what is computed again, or the code is another",
            size=size,
        )
    )
