"""Whether code looks for where positions begin again: a sign that it means to tell documents apart."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Beginnings"]

_COMPARING = (
    "eq",
    "__eq__",
    "ne",
    "__ne__",
    "lt",
    "__lt__",
    "gt",
    "__gt__",
    "le",
    "__le__",
    "sub",
    "__sub__",
    "__rsub__",
)


class Beginnings(TorchFunctionMode):
    """Notes whether positions are compared with 0 or with their neighbours by the code that runs within it.

    Args:
        positions: what the code is told, (batch, query) or (query).
    """

    def __init__(self, positions: Tensor) -> None:
        super().__init__()
        row = positions.reshape(-1, positions.shape[-1])[0]
        self._parts, self.looked = (row, row[1:], row[:-1]), False

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function of torch and note whether it compares positions."""
        name = getattr(func, "__name__", "")
        if not self.looked and (name in _COMPARING or name == "diff"):
            with torch._C.DisableTorchFunction():
                said = [one for one in args if self._are_positions(one)]
                other = [one for one in args if not any(one is each for each in said)]
                neighbours = len({tuple(_first_row(one).tolist()) for one in said}) > 1  # not one row with another
                self.looked = bool(said) and (name == "diff" or neighbours or any(_zero(one) for one in other))
        return func(*args, **(kwargs or {}))

    def _are_positions(self, one: Any) -> bool:
        if not isinstance(one, Tensor) or one.is_floating_point() or one.dtype == torch.bool or one.dim() < 1:
            return False
        return any(one.shape[-1] == part.shape[0] and bool((_first_row(one) == part).all()) for part in self._parts)


def _first_row(one: Tensor) -> Tensor:
    return one.reshape(-1, one.shape[-1])[0]


def _zero(one: Any) -> bool:
    return isinstance(one, int) and not isinstance(one, bool) and one == 0
