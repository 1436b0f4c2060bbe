"""The weights of a function of query, key and value, measured from outside.

Where each key's value is a unit vector, what comes out is how the query shares itself out among the keys.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Skip

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Slope", "Weighed", "apart", "slopes", "steepest", "weighed"]

LOOSE = 1e-3
"""Rows that sum to one but for this are shared out among keys."""
HARD = 100.0
"""How much larger a key is made, that others may feel it."""
STILL = 1e-6
"""A function is taken for linear in its values where it is so up to this share."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a function did with queries and keys."""

    given: Given
    weights: Tensor
    """(batch, heads, query, key), float64."""
    raw: Tensor
    """(batch, heads, query, key): query · key, query head h with the group h // (heads // groups)."""

    @property
    def totals(self) -> Tensor:
        """(batch, heads, query): what each query's weights sum to."""
        return self.weights.sum(-1)

    @property
    def seeing(self) -> Tensor:
        """(batch, heads, query): whether the query reads any key."""
        return (self.weights != 0).any(-1)


def weighed(lab: "Lab", given: Given, route: Route) -> Weighed:
    """Return the weights that a function gives these queries and keys on a route.

    Raises:
        Skip: what comes out is no sum of values, each with a weight.
        Refused: the function does not take this route.
    """
    key, value = given.key, given.value
    assert key is not None
    assert value is not None
    keys, width = value.shape[2], value.shape[3]
    parts: list[Tensor] = []
    for start in range(0, keys, width):
        some = min(width, keys - start)
        unit = torch.zeros_like(value)
        unit[:, :, torch.arange(start, start + some), torch.arange(some)] = 1
        parts.append(lab.answer(given.replace(value=unit), route).out[..., :some].double())
    weights = torch.cat(parts, dim=-1)
    if weights.dim() != 4 or weights.shape[:3] != given.tokens.shape[:3]:
        raise Skip("what the function returns is not (batch, heads, query, width)")
    _linear(lab, given, route, weights)
    groups = key.double().repeat_interleave(given.tokens.shape[1] // key.shape[1], dim=1)
    return Weighed(given, weights, given.tokens.double() @ groups.transpose(-2, -1))


def _linear(lab: "Lab", given: Given, route: Route, weights: Tensor) -> None:
    value = given.value
    assert value is not None
    out = lab.answer(given, route).out.double()
    if value.shape[1] not in (1, out.shape[1]):
        return  # which group a head reads is another question
    again = weights @ value.double().expand(-1, out.shape[1], -1, -1)
    off = (out - again).abs().nan_to_num(0)
    size = float(out.abs().nan_to_num(0).max()) + float(value.abs().max())
    eps = torch.finfo(value.dtype).eps
    if float(off.max()) > max(STILL, 64 * eps) * size:
        raise Skip("what comes out is no sum of the head's own values, each with a weight")


@dataclass(frozen=True)
class Slope:
    """How a head's scores rise with query · key."""

    scale: float
    """By how much."""
    off: float
    """The share of the scores that this, and numbers for each query and each key, do not explain."""


def slopes(found: Weighed) -> list[Slope | None]:
    """Return each head's factor of query · key, from the logarithms of its weights; None where it cannot be told.

    What a whole row or a whole column is multiplied with cancels: denominators, biases that rise with the distance.
    """
    return [_slope(found.weights[:, head], found.raw[:, head]) for head in range(found.weights.shape[1])]


def apart(lab: "Lab", found: Weighed, route: Route) -> bool:
    """Return whether a key's weight is not moved by another key, as where each has a sigmoid of its own.

    Rows that sum to one are shared out, and are not asked again.
    """
    totals = found.totals[found.seeing]
    if float((totals - 1).abs().nan_to_num(0).max()) < LOOSE:
        return False
    key = found.given.key
    assert key is not None
    other = key.clone()
    other[:, :, 0] = -HARD * key[:, :, 0]
    again = weighed(lab, found.given.replace(key=other), route)
    off = (again.weights - found.weights)[..., 1:].abs().nan_to_num(0)
    return float(off.max()) <= STILL * float(found.weights.abs().nan_to_num(0).max())


def steepest(found: Weighed) -> list[Slope | None]:
    """Return each head's factor as `slopes` does, or that of the odds of its weights, whichever fits better."""
    plain = slopes(found)
    if not bool(((found.weights >= 0) & (found.weights < 1)).all()):
        return plain
    odds = slopes(replace(found, weights=found.weights / (1 - found.weights)))
    both = zip(plain, odds, strict=True)
    return [two if one is None or (two is not None and two.off < one.off) else one for one, two in both]


def _slope(weights: Tensor, raw: Tensor) -> Slope | None:
    got: list[Tensor] = []
    want: list[Tensor] = []
    for one, scores in zip(weights, raw, strict=True):
        there = (one > 1e-30) & one.isfinite()
        rows, columns = there.nonzero(as_tuple=True)
        if rows.numel() < 4:
            continue
        effects = torch.cat(
            [torch.nn.functional.one_hot(at, int(at.max()) + 1).double() for at in (rows, columns)], dim=1
        )
        for into, values in ((got, one[there].log()), (want, scores[there])):
            fitted = torch.linalg.lstsq(effects, values[:, None], driver="gelsd").solution
            into.append(values - (effects @ fitted)[:, 0])
    if not want:
        return None
    logs, scores = torch.cat(got), torch.cat(want)
    power = float((scores * scores).sum())
    if power < 1e-12 * float((raw * raw).sum()):
        return None
    scale = float((logs * scores).sum()) / power
    total = float((logs * logs).sum())
    off = float(((logs - scale * scores) ** 2).sum())
    return Slope(scale, (off / total) ** 0.5 if total > 1e-18 else 0.0)
