"""What a target returned: where the numbers of each token, the weights and the cache are in it."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.subject import Path

__all__ = ["at", "axes_of", "finite", "is_weights", "leaves", "parts", "shaped", "tensors", "weights_in", "whole_in"]

_FIRST = ("logits", "last_hidden_state", "out", "output", "outputs", "x", "hidden_states", "prediction_logits")
"""Names of the numbers of each token, where several tensors have such axes."""


def at(result: Any, path: Path) -> Any:
    """The part of what was returned that stands at a path; None where it is not there."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(result, tuple | list) or not -len(result) <= step < len(result):
                return None
            result = result[step]
        elif isinstance(result, Mapping):
            result = result.get(step)
        else:
            result = getattr(result, step, None)
    return result


def parts(result: Any) -> Iterator[tuple[str | int, Any]]:
    """What a returned thing consists of, by name or number."""
    if isinstance(result, Mapping):
        yield from result.items()
    elif isinstance(result, tuple) and hasattr(result, "_fields"):
        yield from zip(result._fields, result, strict=True)  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(result, tuple | list):
        yield from enumerate(result)
    elif is_dataclass(result) and not isinstance(result, type):
        yield from ((one.name, getattr(result, one.name)) for one in fields(result))
    elif not isinstance(result, Tensor | nn.Module | type) and hasattr(result, "__dict__"):
        yield from vars(result).items()


def leaves(result: Any, depth: int = 4) -> Iterator[tuple[Path, Tensor]]:
    """Every tensor in what was returned, and where."""
    if isinstance(result, Tensor):
        if result.layout == torch.strided and not result.is_nested:
            yield (), result
    elif depth:
        for name, one in parts(result):
            for path, leaf in leaves(one, depth - 1):
                yield (name, *path), leaf


def axes_of(result: Any, batch: int, length: int | None, first: str = "batch") -> tuple[Path, str] | None:
    """Where the numbers of each token are, and along which axes; None where there are none.

    Args:
        result: what was returned.
        batch: sequences that were given.
        length: tokens that were given; None where one cannot say how many come out.
        first: "batch" or "query": which axis comes first in the target's layout.
    """
    lead = (batch, length) if first == "batch" else (length, batch)
    found: list[tuple[int, int, Path, str]] = []
    for order, (path, leaf) in enumerate(leaves(result, 2)):
        if not leaf.is_floating_point():
            continue
        shape = leaf.shape
        axes = ""
        if leaf.dim() == 3 and _matches(shape[:2], lead):
            axes = "batch query channels" if first == "batch" else "query batch channels"
        elif leaf.dim() == 4 and (shape[0], shape[1]) == lead and length is not None:
            axes = "batch query heads width"
        elif leaf.dim() == 4 and (shape[0], shape[2]) == lead and shape[3] != length:
            axes = "batch heads query width"
        elif leaf.dim() == 4 and length is None and shape[0] == batch:
            axes = "batch channels height width"
        elif leaf.dim() == 2 and tuple(shape) == lead:
            axes = "batch query"
        if axes:
            name = str(path[-1]) if path else ""
            if length is None and name not in _FIRST and path and isinstance(path[-1], str):
                continue  # of pictures and sounds other numbers are returned, too: scores, boxes, depths
            rank = _FIRST.index(name) if name in _FIRST else len(_FIRST)
            # A pair of axes alone, or heads, count only where nothing better is there.
            found.append(({"channels": 0, "width": 1, "query": 2}[axes.split()[-1]] * 100 + rank, order, path, axes))
    return (min(found)[2], min(found)[3]) if found else None


def whole_in(result: Any, batch: int) -> Path | None:
    """Where one answer a sequence is, as of a class token or a mean: the tensor whose first axis is the batch alone."""
    found: list[tuple[int, int, Path]] = []
    for order, (path, leaf) in enumerate(leaves(result, 2)):
        if leaf.is_floating_point() and 2 <= leaf.dim() <= 3 and leaf.shape[0] == batch and leaf.numel():
            name = str(path[-1]) if path else ""
            found.append((_FIRST.index(name) if name in _FIRST else len(_FIRST), order, path))
    return min(found)[2] if found else None


def _matches(shape: Any, lead: tuple[int | None, int | None]) -> bool:
    return all(want is None or have == want for have, want in zip(shape, lead, strict=True))


def weights_in(result: Any, output: Path | None, batch: int, query: int, key: int | None) -> Path | None:
    """Where weights are: tensors that end in (query, key), whose rows may sum to one; a row of them is a layer each."""
    for name, one in parts(result):
        if output == (name,) or name == "hidden_states":
            continue
        if is_weights(one, batch, query, key):
            return (name,)
        if isinstance(one, tuple | list) and any(is_weights(each, batch, query, key) for each in one):
            return (name,)
        if isinstance(one, Mapping):
            inner = weights_in(one, None, batch, query, key)
            if inner is not None:
                return (name, *inner)
    return None


def is_weights(one: Any, batch: int, query: int, key: int | None = None) -> bool:
    """Whether it may be weights: a tensor that ends in (query, key), with heads or without."""
    return (
        isinstance(one, Tensor)
        and one.is_floating_point()
        and one.dim() in (3, 4)
        and one.shape[-2] == query
        and (key is None or one.shape[-1] == key)
        and (one.shape[0] % batch == 0 if one.dim() == 3 else one.shape[0] == batch)
    )


def shaped(weights: Tensor, batch: int) -> Tensor:
    """Weights as (batch, heads, query, key)."""
    if weights.dim() == 4:
        return weights
    if weights.shape[0] == batch:
        return weights[:, None]
    return weights.unflatten(0, (batch, -1))


def tensors(result: Any, depth: int = 4) -> list[Tensor]:
    """Every tensor in it."""
    return [leaf for _, leaf in leaves(result, depth)]


def finite(*several: Tensor | None) -> bool:
    """Whether all of them hold numbers only."""
    return all(one is None or bool(torch.isfinite(one).all()) for one in several)
