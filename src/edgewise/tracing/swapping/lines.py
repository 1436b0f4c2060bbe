"""What can be put in the place of a line of attention: of its mask, scale, scores, weights, values or output."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import torch
from torch import Tensor

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import Graph, full, parse

__all__ = ["Change", "Instead", "Lines", "Mask", "Words", "lines_of", "zeros"]

Words = Literal["zeros", "mean"]
Instead = Words | Tensor | Callable[[Tensor], Tensor] | None
"""A word, a tensor that broadcasts to what it replaces, a function of what it replaces, or None to leave it."""
Mask = str | Graph | Tensor | None
"""Edges: "none" for no mask at all, a graph or its name ("causal() & window(4)"), or booleans, True = may attend."""

Change = Callable[[Tensor, Callable[[], Tensor]], Tensor]
"""From a stage, and which of its places hold a token (asked where it matters), to what stands there instead."""


@dataclass(frozen=True)
class Lines:
    """What is replaced; None where a line stays as it is."""

    mask: Graph | Tensor | None = None
    scale: float | None = None
    scores: Change | None = None
    weights: Change | None = None
    values: Change | None = None
    out: Change | None = None

    @property
    def nothing(self) -> bool:
        """Whether every line stays."""
        return all(getattr(self, field.name) is None for field in fields(self))

    @property
    def weighs(self) -> bool:
        """Whether the weights become others."""
        return any(one is not None for one in (self.mask, self.scale, self.scores, self.weights))

    def then(self, other: "Lines") -> "Lines":
        """These lines, and then the other ones: a function is given what the first have left."""
        return Lines(
            self.mask if other.mask is None else other.mask,
            self.scale if other.scale is None else other.scale,
            *(_then(getattr(self, name), getattr(other, name)) for name in ("scores", "weights", "values", "out")),
        )


def lines_of(*, mask: Mask, scale: Any, **instead: Instead) -> Lines:
    """The lines that arguments of `swap` stand for.

    Raises:
        ArgumentError: one of them is nothing that can stand in a line's place.
    """
    if scale is not None and not (isinstance(scale, int | float) and math.isfinite(scale)):
        raise ArgumentError(f"scale must be a finite number, 1.0 for none; got {scale!r}")
    changes = {name: _change(name, given) for name, given in instead.items()}
    return Lines(_edges(mask), None if scale is None else float(scale), **changes)


def zeros(stage: Tensor, present: Callable[[], Tensor]) -> Tensor:  # noqa: ARG001 - called as `_mean` is
    """Zeros."""
    return torch.zeros_like(stage)


def _mean(stage: Tensor, present: Callable[[], Tensor]) -> Tensor:
    """What a head has on average, over the batch and the positions where there is a token."""
    there = present().to(stage.dtype).expand(*stage.shape[:1], 1, stage.shape[2], 1)
    total = (stage * there).sum((0, 2), keepdim=True)
    return (total / there.sum((0, 2), keepdim=True).clamp_min(1)).expand_as(stage)


_KNOWN: dict[str, dict[str, Change]] = {
    "scores": {"zeros": zeros},
    "weights": {},
    "values": {"zeros": zeros, "mean": _mean},
    "out": {"zeros": zeros, "mean": _mean},
}
_AXES = {
    "scores": "(batch, heads, query, key)",
    "weights": "(batch, heads, query, key)",
    "values": "(batch, heads, key, width)",
    "out": "(batch, heads, query, width)",
}


def _change(name: str, given: Any) -> Change | None:
    known = _KNOWN[name]
    if given is None:
        return None
    if isinstance(given, str) and given in known:
        return known[given]
    if isinstance(given, Tensor):
        return lambda stage, _: _fitting(name, given, stage)
    if callable(given):
        return lambda stage, _: _fitting(name, given(stage), stage)
    words = "".join(f'"{word}", ' for word in known)
    raise ArgumentError(f"{name} must be {words}a tensor or a function of {_AXES[name]}; got {given!r}")


def _fitting(name: str, given: Any, stage: Tensor) -> Tensor:
    """What was given, in the shape of the stage."""
    shape = tuple(stage.shape)
    if not isinstance(given, Tensor):
        raise ArgumentError(f"{name} must be given a tensor {_AXES[name]} = {shape}; got {type(given).__name__}")
    try:
        return given.to(stage).expand(shape)
    except RuntimeError:
        raise ShapeError(
            f"{name} must be {_AXES[name]} = {shape}, or broadcast to it; got {tuple(given.shape)}"
        ) from None


def _edges(mask: Any) -> Graph | Tensor | None:
    if mask is None or isinstance(mask, Graph):
        return mask
    if isinstance(mask, str):
        return full() if mask == "none" else parse(mask)
    if isinstance(mask, Tensor) and mask.dtype == torch.bool:
        return mask
    got = mask.dtype if isinstance(mask, Tensor) else repr(mask)
    raise ArgumentError(f'mask must be "none", a graph like causal(), or booleans (True = may attend); got {got}')


def _then(one: Change | None, other: Change | None) -> Change | None:
    if one is None or other is None or other is zeros:
        return one if other is None else other
    return lambda stage, present: other(one(stage, present), present)
