"""What the cells of a chunk are masked and multiplied with: the same for many strips and every layer, so made once."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from edgewise.attention import Look, Masks
from edgewise.records import NEAR
from edgewise.tracing.strips import KEYS

__all__ = ["BLOCK", "Tables", "tables"]

BLOCK = 64  # keys among which the largest is looked for at once

_HELD = 64  # irregular graphs have a table for every strip


class Tables:
    """Small tensors by what they depend on; several threads may ask.

    Args:
        dtype: of the scores.
        device: where they are.
        each: query heads that share a key-value head.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device, each: int) -> None:
        self._dtype, self._device, self._each = dtype, device, each
        self.up = self._range(KEYS).to(dtype)
        """0, 1, 2 …"""
        self.down = KEYS - self.up
        """… 3, 2, 1"""
        self._made: dict[Any, Any] = {}

    def bits(self, look: Look) -> tuple[tuple[slice, Tensor], ...]:
        """Return columns, and which bits of them to keep: (rows, 1, columns), all for an edge and none elsewhere."""
        return self._once(
            look,
            lambda: tuple((part, bits[:, None].to(self._device)) for part, bits in Masks(self._dtype).of(look)),
        )

    def rows(self, rows: int) -> Tensor:
        """Return the row of each flattened row."""
        return self._once((rows,), lambda: (self._range(rows) // self._each).to(self._dtype))

    def lines(self, lines: int, step: int) -> Tensor:
        """Return 0, step, 2 · step …, for so many lines."""
        return self._once((lines, step), lambda: self._range(lines) * step)

    def distances(self, rows: int, start: int, columns: int) -> Tensor:
        """Return how far queries and keys are apart, (rows, 1, columns).

        Args:
            rows: how many queries.
            start: how far the first key stands behind the first query.
            columns: how many keys.
        """
        return self._once(
            (rows, start, columns, "apart"), lambda: self._apart(rows, start, columns).abs().to(self._dtype)[:, None]
        )

    def around(self, rows: int, start: int, columns: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return which keys are near, and where a query's own key and the one before it are, and whether.

        The first is (rows, 1, columns), the others (rows, 1, 2); arguments are those of `distances`.
        """

        def make() -> tuple[Tensor, Tensor, Tensor]:
            near = self._apart(rows, start, columns).abs() <= NEAR
            places = self._apart(rows, start, 2)
            there = (places >= 0) & (places < columns)
            found = (near.to(self._dtype), places.clamp(0, columns - 1), there.to(self._dtype))
            return found[0][:, None], found[1][:, None], found[2][:, None]

        return self._once((rows, start, columns, "around"), make)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._made.get(key)
        if found is None:
            found = make()
            if len(self._made) >= _HELD:
                self._made.clear()
            self._made[key] = found
        return found

    def _apart(self, rows: int, start: int, columns: int) -> Tensor:
        return self._range(rows)[:, None] - start - self._range(columns)

    def _range(self, size: int) -> Tensor:
        return torch.arange(size, device=self._device)


# Nothing in them depends on a call's numbers.
@lru_cache(maxsize=4)
def tables(dtype: torch.dtype, device: torch.device, each: int) -> Tables:
    """Return the tables that calls of this kind share."""
    return Tables(dtype, device, each)
