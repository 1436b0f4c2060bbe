"""What is multiplied with the cells of a chunk to sum them up by distance; the same for many strips, so made once."""

import torch
from torch import Tensor

from edgewise.records import NEAR
from edgewise.tracing.flattened import Problem
from edgewise.tracing.strips import KEYS

__all__ = ["BLOCK", "Tables"]

BLOCK = 64  # keys among which the largest is looked for at once


class Tables:
    """Small tensors by what they depend on.

    Args:
        problem: the call, of which dtype, device and heads count.
    """

    def __init__(self, problem: Problem) -> None:
        self._dtype, self._device = problem.query.dtype, problem.query.device
        self.up = self._range(KEYS).to(self._dtype)
        """0, 1, 2 …"""
        self.down = KEYS - self.up
        """… 3, 2, 1"""
        self.rows = (self._range(problem.query.shape[1]) // problem.each).to(self._dtype)
        """The row of each flattened row."""
        self._lines: dict[tuple[int, int], Tensor] = {}
        self._distances: dict[tuple[int, int, int], Tensor] = {}
        self._around: dict[tuple[int, int, int], tuple[Tensor, Tensor, Tensor]] = {}

    def lines(self, lines: int, step: int) -> Tensor:
        """Return 0, step, 2 · step …, for so many lines."""
        if (lines, step) not in self._lines:
            self._lines[lines, step] = self._range(lines) * step
        return self._lines[lines, step]

    def distances(self, rows: int, start: int, columns: int) -> Tensor:
        """Return how far queries and keys are apart, (rows, 1, columns).

        Args:
            rows: how many queries.
            start: how far the first key stands behind the first query.
            columns: how many keys.
        """
        if (rows, start, columns) not in self._distances:
            self._distances[rows, start, columns] = self._apart(rows, start, columns).abs().to(self._dtype)[:, None]
        return self._distances[rows, start, columns]

    def around(self, rows: int, start: int, columns: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return which keys are near, and where a query's own key and the one before it are, and whether.

        The first is (rows, 1, columns), the others (rows, 1, 2); arguments are those of `distances`.
        """
        if (rows, start, columns) not in self._around:
            near = self._apart(rows, start, columns).abs() <= NEAR
            places = self._apart(rows, start, 2)
            there = (places >= 0) & (places < columns)
            self._around[rows, start, columns] = (
                near[:, None].to(self._dtype),
                places.clamp(0, columns - 1)[:, None],
                there[:, None].to(self._dtype),
            )
        return self._around[rows, start, columns]

    def _apart(self, rows: int, start: int, columns: int) -> Tensor:
        return self._range(rows)[:, None] - start - self._range(columns)

    def _range(self, size: int) -> Tensor:
        return torch.arange(size, device=self._device)
