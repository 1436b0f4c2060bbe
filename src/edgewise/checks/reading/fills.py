"""What a target's code does with masks while it runs: fills that are thrown away, fills that are too weak.

It is looked at only to say why something leaks that was seen to leak: code may write whatever it likes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Fill", "Fills"]

_FILLING = ("masked_fill", "masked_fill_", "where")


@dataclass(eq=False)
class Fill:
    """One call that puts a number where a mask says so."""

    name: str
    """The function."""
    cells: np.ndarray
    """bool (query, key): where any sequence or head is filled."""
    value: float
    """The number that is put there; NaN where there are several."""
    used: bool = False
    """Whether anything reads the result."""
    scaled: float = 1.0
    """What the result is multiplied by afterwards."""


@dataclass(eq=False)
class Fills(TorchFunctionMode):
    """Notes the fills of the code that runs within it."""

    found: list[Fill] = field(default_factory=list[Fill])

    def __post_init__(self) -> None:
        super().__init__()
        self._results: dict[int, tuple[Tensor, Fill]] = {}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function of torch and note what it fills."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name not in ("__get__", "size", "dim"):
            for tensor in _tensors((args, kwargs)):
                if (held := self._results.get(id(tensor))) is not None:
                    held[1].used = True
                    held[1].scaled *= _factor(name, args)
        result = func(*args, **kwargs)
        if isinstance(result, Tensor) and name in _FILLING and (fill := _fill(name, args, kwargs, result)) is not None:
            fill.used = name.endswith("_")
            self.found.append(fill)
            self._results[id(result)] = (result, fill)  # held, so that its id is not given away
        return result

    def lost(self, cells: np.ndarray) -> Fill | None:
        """Return a fill of these cells whose result nobody reads."""
        return next((one for one in self.found if not one.used and _covers(one.cells, cells)), None)

    def weak(self, cells: np.ndarray) -> Fill | None:
        """Return a fill of these cells with a number that hides nothing."""
        return next(
            (one for one in self.found if one.used and _covers(one.cells, cells) and np.isfinite(one.value)), None
        )


def _covers(filled: np.ndarray, cells: np.ndarray) -> bool:
    """Return whether all these cells are filled, and not all there are."""
    return filled.shape == cells.shape and bool(filled[cells].all()) and not bool(filled.all())


def _fill(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor) -> Fill | None:
    if result.dim() < 2 or not result.is_floating_point() or _weights(args):
        return None
    if name.startswith("masked_fill"):
        mask = kwargs.get("mask", args[1] if len(args) > 1 else None)
        value = kwargs.get("value", args[2] if len(args) > 2 else None)
    else:
        mask, kept, value = _three(args, kwargs)
        if _is_number(kept) and (not _is_number(value) or _number(kept) < _number(value)):
            value = kept
        elif isinstance(mask, Tensor):
            mask = ~mask  # of two numbers the lower one is what hides
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        return None
    cells = torch.broadcast_to(mask, result.shape).flatten(0, -3).any(0) if result.dim() > 2 else mask
    number = _number(value)
    return Fill(name, cells.detach().cpu().numpy(), number)


def _weights(args: tuple[Any, ...]) -> bool:
    """Return whether what is filled is weights already, and no scores: rows of no negative number that sum to one."""
    filled = next((one for one in args if isinstance(one, Tensor) and one.is_floating_point() and one.dim() > 1), None)
    if filled is None or bool((filled < 0).any()):
        return False
    rows = filled.detach().double().sum(-1)
    return bool(torch.isclose(rows, torch.ones_like(rows), atol=1e-2).all())


def _three(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return where's condition, what stands where it is true, and what stands elsewhere."""
    names = ("condition", "input", "other")
    given = [*args, *(None for _ in range(3 - len(args)))][:3]
    found = [kwargs.get(name, one) for name, one in zip(names, given, strict=True)]
    if isinstance(found[0], Tensor) and found[0].dtype != torch.bool and isinstance(found[1], Tensor):
        found = [found[1], found[0], found[2]]  # scores.where(mask, value): the tensor itself comes first
    return found[0], found[1], found[2]


def _is_number(value: Any) -> bool:
    return not isinstance(value, Tensor) or value.dim() < 2


def _number(value: Any) -> float:
    if isinstance(value, Tensor):
        return float(value.detach()) if value.numel() == 1 else float("nan")
    return float(value) if isinstance(value, int | float) else float("nan")


def _factor(name: str, args: tuple[Any, ...]) -> float:
    """Return what a product multiplies by, where that is one number."""
    numbers = [float(one) for one in args if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 1 or not numbers[0]:
        return 1.0
    if name in ("mul", "__mul__", "__rmul__", "multiply", "mul_", "__imul__"):
        return numbers[0]
    return 1 / numbers[0] if name in ("div", "__truediv__", "true_divide", "div_", "__itruediv__") else 1.0


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, Mapping):
        for one in values.values():
            yield from _tensors(one)
    elif isinstance(values, list | tuple):
        for one in values:
            yield from _tensors(one)
