"""One input of a target: what it reads, and what it is told about it."""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

__all__ = ["Given"]


@dataclass(frozen=True, eq=False)
class Given:
    """What a target is given, always in the same layout, whatever layout it takes.

    Example:
        >>> given = Given(torch.randn(2, 5, 16), keep=torch.ones(2, 5, dtype=torch.bool))
        >>> given.cut(3).keep.shape, given.row(1).tokens.shape
        (torch.Size([2, 3]), torch.Size([1, 5, 16]))
    """

    tokens: Tensor
    """Ids (batch, query), floats (batch, query, channels), pixels (batch, channels, height, width), features, or a
    function's queries (batch, heads, query, width)."""
    keep: Tensor | None = None
    """Bool (batch, query): True for a real token."""
    positions: Tensor | None = None
    """Whole numbers (batch, query), where a property needs to set them; else they are counted."""
    documents: Tensor | None = None
    """Whole numbers (batch, query): which document each token is of."""
    memory: Tensor | None = None
    """What cross attention reads, ids or floats (batch, key, …)."""
    memory_keep: Tensor | None = None
    """Bool (batch, key)."""
    key: Tensor | None = None
    """Of a function: (batch, groups, key, width)."""
    value: Tensor | None = None
    """Of a function: (batch, groups, key, width)."""
    allowed: Tensor | None = None
    """Bool (query, key) for all sequences: a square mask, where the target takes one; True = may attend."""

    @property
    def batch(self) -> int:
        """Sequences."""
        return self.tokens.shape[0]

    @property
    def length(self) -> int:
        """Tokens of a sequence; of a function, queries."""
        return self.tokens.shape[2] if self.key is not None else self.tokens.shape[1]

    def replace(self, **changed: Any) -> "Given":
        """The same with some of it changed."""
        return replace(self, **changed)

    def row(self, index: int) -> "Given":
        """One sequence alone, as a batch of one."""
        return self.rows([index])

    def rows(self, indices: list[int]) -> "Given":
        """Sequences by number, in this order; one may come several times."""
        parts = {name: one[indices] for name, one in self._tensors().items() if name != "allowed"}
        return replace(self, **parts)

    def cut(self, length: int) -> "Given":
        """The first tokens of each sequence; what cross attention reads stays whole."""
        return self.slice(0, length)

    def slice(self, start: int, stop: int) -> "Given":
        """Tokens from one place to before another; of a function, queries."""
        if self.key is not None:
            allowed = None if self.allowed is None else self.allowed[start:stop]
            return replace(self, tokens=self.tokens[:, :, start:stop], allowed=allowed)
        parts: dict[str, Any] = {
            name: one[:, start:stop]
            for name in ("tokens", "keep", "positions", "documents")
            if (one := getattr(self, name)) is not None
        }
        if self.allowed is not None:
            parts["allowed"] = self.allowed[start:stop, start:stop]
        return replace(self, **parts)

    def to(self, dtype: torch.dtype | None = None, device: torch.device | None = None) -> "Given":
        """The same with its floats in another dtype, or on another device; ids and masks keep their dtype."""
        moved = {
            name: one.to(device=device, dtype=dtype if one.is_floating_point() else None)
            for name, one in self._tensors().items()
        }
        return replace(self, **moved)

    def copied(self, *, contiguous: bool = True) -> "Given":
        """The same in memory of its own, gradients flowing back; strided where it is not to lie in order."""
        return replace(self, **{name: _copy(one, contiguous) for name, one in self._tensors().items()})

    def _tensors(self) -> dict[str, Tensor]:
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: one for name, one in found.items() if one is not None}


def _copy(tensor: Tensor, contiguous: bool) -> Tensor:
    if contiguous or tensor.dim() < 2:
        return tensor.clone(memory_format=torch.contiguous_format)
    # The last two axes change places in memory: equal values, other strides.
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
