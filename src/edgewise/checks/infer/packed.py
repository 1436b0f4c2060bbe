"""A function over packed tokens, (tokens, heads, width) and where documents begin: called for each row of a batch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["RowByRow"]


class RowByRow:
    """The function with a batch in front, each row of which is a call: (batch, tokens, heads, width).

    Args:
        function: of query, key and value without a batch.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, **named: Any) -> Tensor:
        """Return what it gives for each row; of several things, the first."""
        given = zip(query, key, value, strict=True)
        rows = [self.function(*one, **named) for one in given]
        return torch.stack([one[0] if isinstance(one, tuple | list) else one for one in rows])
