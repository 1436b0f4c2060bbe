"""What a config says of the numbers that inputs must fit, in whichever part of it, and random tokens by them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.tracing.tiny.sizes import SPECIAL

__all__ = ["LENGTH", "number", "words"]

LENGTH = 12


def words(model: nn.Module, rows: int, chance: torch.Generator, length: int = LENGTH) -> Tensor:
    """Random tokens without a special meaning, (rows, length)."""
    most = number(model.config, 99, "vocab_size")
    return torch.randint(min(SPECIAL, most // 2), most, (rows, length), generator=chance)


def number(config: Any, default: int, *names: str) -> int:
    """The first number in a config or in a part of it that has one of these names."""
    for part in _parts(config):
        for name in names:
            found = getattr(part, name, None)
            if isinstance(found, list | tuple) and found and type(found[0]) is int:
                found = found[0]
            if type(found) is int:
                return found
    return default


def _parts(config: Any) -> Iterator[Any]:
    yield config
    for value in vars(config).values():
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            yield from _parts(value)
