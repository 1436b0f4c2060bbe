"""The sums over the keys from which statistics are made."""

import math

import torch
from torch import Tensor

__all__ = ["Sums", "sums_for"]

# A row is trusted whose sum of exp(score) is between these: float32 reaches e ** ±87, and what is e ** 17 times smaller
# than the sum does not count.
_LOW, _HIGH = math.exp(-69), math.exp(69)


class Sums:
    """Numbers for each row of the flattened query; all sums are of exp(score − shift).

    Args:
        numbers: nine for each row, (9, n, rows).
        where: the key of the largest cell, −1 where there is no edge.
    """

    def __init__(self, numbers: Tensor, where: Tensor) -> None:
        self.numbers, self.where = numbers, where
        several = numbers.unbind()  # cheaper than to index nine times, which is done for every strip
        self.total = several[0]
        self.dot = several[1]
        """With score − shift as the factor of each cell."""
        self.far = several[2]
        """With the distance between query and key as the factor."""
        self.near, self.first, self.own, self.previous = several[3:7]
        self.largest = several[7]
        """The largest cell."""
        self.shift = several[8]

    def part(self, heads: slice, rows: slice) -> "Sums":
        """Return views of some rows."""
        return Sums(self.numbers[:, heads, rows], self.where[heads, rows])

    def distrusted(self) -> Tensor:
        """Return which rows are to be summed again relative to their largest score."""
        return ~((self.total > _LOW) & (self.total < _HIGH) & self.dot.isfinite())

    def forget(self) -> None:
        """Make everything as it was before the first cell."""
        self.numbers.zero_()
        self.where.fill_(-1)


def sums_for(query: Tensor) -> Sums:
    """Return sums over nothing, for each row of the flattened query."""
    return Sums(query.new_zeros(9, *query.shape[:2]), torch.full(query.shape[:2], -1, device=query.device))
