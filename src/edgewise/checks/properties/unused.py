"""Projections of attention of which a part is computed and never used: seen by gradients that are nothing but zero."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import nn

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.properties.pulled import pulled

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab
    from edgewise.checks.lab.sites import Seen

__all__ = ["unused"]


def unused(lab: "Lab", route: Route, seen: "Seen") -> tuple[str, int]:
    """Return the projection of a site of which whole heads are never used, and how many channels; "" and 0 for none.

    Only what stands in the module that attends is looked at, and as much of it as a head is wide.
    """
    if seen.key.shape[2] == 1:
        return "", 0  # one key has all the weight, whatever it says
    module = lab.subject.module
    owner = (
        None
        if module is None
        else dict(module.named_modules()).get(seen.site, module if "." not in seen.site else None)
    )
    if owner is None:
        return "", 0
    weights = {name: one for name, one in _weights(owner) if one.requires_grad}
    if not weights:
        return "", 0
    given = lab.given(route)
    out = lab.answer(given, route, gradient=True).out
    try:
        got = pulled(out.double().square().sum(), list(weights.values()))
    except Refused:
        return "", 0
    for (name, weight), one in zip(weights.items(), got, strict=True):
        if one is None:
            continue
        still = int((one == 0).all(1).sum())
        if still >= seen.width and still % seen.width == 0 and (still < len(weight) or _twins(seen)):
            return name, still
    missing = [name for (name, _), one in zip(weights.items(), got, strict=True) if one is None]
    return (missing[0], weights[missing[0]].shape[0]) if missing and _twins(seen) else ("", 0)


def _weights(owner: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Of each projection that has a weight; one that is computed anew each time, as a norm's, is no parameter."""
    for name, one in owner.named_modules():
        held = dict(one.named_parameters(recurse=False))
        if isinstance(one, nn.Linear) and _near(name) and "weight" in held:
            yield name, held["weight"]


def _near(name: str) -> bool:
    return name.count(".") <= 1 and not any(
        word in name.lower() for word in ("mlp", "ffn", "fc", "gate", "out", "dense")
    )


def _twins(seen: "Seen") -> bool:
    """Whether two of the three are the same vectors, and not merely nothing."""
    pairs = ((seen.query, seen.key), (seen.key, seen.value), (seen.query, seen.value))
    return any(one.shape == other.shape and torch.equal(one, other) and bool(one.any()) for one, other in pairs)
