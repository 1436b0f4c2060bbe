"""What a claim expects, as data, and the one comparison that says whether a measurement agrees with it.

An expectation is a plain value (equal, bit for bit), or a `near`, `above` or `below`; lists are compared cell by cell.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Above", "Below", "Near", "above", "agrees", "below", "near", "plain", "spoken"]


@dataclass(frozen=True)
class Near:
    """Every number within `within` of `value`; of `value` times `within` where `relative`."""

    value: Any
    within: float
    relative: bool = False


@dataclass(frozen=True)
class Below:
    """Every number strictly below `limit`."""

    limit: float


@dataclass(frozen=True)
class Above:
    """Every number strictly above `limit`."""

    limit: float


def near(value: Any, within: float, *, relative: bool = False) -> Near:
    """Return the expectation that numbers lie within `within` of `value`."""
    return Near(value, within, relative)


def below(limit: float) -> Below:
    """Return the expectation that numbers lie strictly below `limit`."""
    return Below(limit)


def above(limit: float) -> Above:
    """Return the expectation that numbers lie strictly above `limit`."""
    return Above(limit)


def agrees(measured: Any, expected: Any) -> bool:
    """Say whether `measured` is what `expected` asks for; NaN never is.

    A mapping asks for its own keys only: what else was measured is evidence, not part of the claim.

    Example:
        >>> agrees({"mean": 0.501, "draws": 100}, {"mean": near(0.5, 0.01)})
        True
    """
    if isinstance(expected, Mapping):
        return all(name in measured and agrees(measured[name], wanted) for name, wanted in expected.items())
    if isinstance(expected, Near):
        return _close(measured, expected.value, expected)
    if isinstance(expected, Below):
        return all(number < expected.limit for number in _numbers(measured))
    if isinstance(expected, Above):
        return all(number > expected.limit for number in _numbers(measured))
    if isinstance(expected, list | tuple):
        return (
            isinstance(measured, list | tuple)
            and len(measured) == len(expected)
            and all(agrees(one, wanted) for one, wanted in zip(measured, expected, strict=True))
        )
    # True == 1 in Python; a claim about a truth is not met by a number, nor the other way round.
    return isinstance(measured, bool) == isinstance(expected, bool) and bool(measured == expected)


def _close(measured: Any, value: Any, wanted: Near) -> bool:
    if isinstance(value, list | tuple):
        return (
            isinstance(measured, list | tuple)
            and len(measured) == len(value)
            and all(_close(one, other, wanted) for one, other in zip(measured, value, strict=True))
        )
    allowed = wanted.within * abs(value) if wanted.relative else wanted.within
    return abs(measured - value) <= allowed


def _numbers(measured: Any) -> list[float]:
    """Every number in nested lists; nothing measured is NaN, which no bound holds for."""
    if isinstance(measured, list | tuple):
        return [number for one in measured for number in _numbers(one)] or [math.nan]
    return [measured]


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it: expectations as small objects, infinities and NaN as words."""
    if isinstance(value, Near):
        return {"near": plain(value.value), ("within_relative" if value.relative else "within"): value.within}
    if isinstance(value, Below):
        return {"below": value.limit}
    if isinstance(value, Above):
        return {"above": value.limit}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def spoken(value: Any) -> str:
    """Return `value` as a person reads it on one line: four digits are enough, names have no underscores.

    Example:
        >>> spoken({"loss": near(2.49, 0.03), "row_sums": [1.0, 0.99999994]})
        'loss 2.49 ± 0.03 · row sums [1, 1]'
    """
    if isinstance(value, Near):
        return f"{spoken(value.value)} ± {value.within:g}" + (" of it" if value.relative else "")
    if isinstance(value, Below):
        return f"< {value.limit:g}"
    if isinstance(value, Above):
        return f"> {value.limit:g}"
    if isinstance(value, Mapping):
        return " · ".join(f"{str(name).replace('_', ' ')} {spoken(one)}" for name, one in value.items())
    if isinstance(value, str):
        return value.replace("\n", "⏎")
    if isinstance(value, Sequence):
        return "[" + ", ".join(spoken(one) for one in value) + "]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return str(value).replace("-", "−")
