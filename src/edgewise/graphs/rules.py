"""The rules that need no data: causal, full, window, prefix, chunks. Each allows one run of keys a row."""

from abc import abstractmethod
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int64

from edgewise.graphs.graph import Graph, Pairs, whole_number
from edgewise.graphs.ranges import Ranges, Rows, single

__all__ = ["Causal", "Chunks", "Full", "Prefix", "Window", "causal", "chunks", "full", "prefix", "window"]


@dataclass(frozen=True, eq=False, repr=False)
class _Rule(Graph):
    """A rule whose numbers, if any, are its fields."""

    @abstractmethod
    def run(self, positions: Int64[np.ndarray, " rows"]) -> tuple[Any, Any]:
        """Return first key and one past the last for rows at these positions, on a line without ends."""

    def find(self, rows: Rows) -> Ranges:
        """Return the run of each row, cut to its stretch."""
        start, stop = self.run(rows.positions)
        return single(np.maximum(start, rows.low), np.minimum(stop, rows.high), rows.key)

    def identity(self) -> tuple[Any, ...]:
        """Return the numbers."""
        return astuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({', '.join(map(str, self.identity()))})"


class Full(_Rule):
    """Everyone reads everyone."""

    def judge(self, pairs: Pairs) -> Any:
        """Return True everywhere."""
        return (pairs.key >= 0) | (pairs.query >= 0)

    def run(self, positions: Int64[np.ndarray, " rows"]) -> tuple[Any, Any]:
        """Return the whole line."""
        return np.zeros_like(positions), np.full_like(positions, np.iinfo(np.int64).max)


class Causal(_Rule):
    """No one reads the future."""

    def judge(self, pairs: Pairs) -> Any:
        """Return where the key is not after the query."""
        return pairs.key <= pairs.query

    def run(self, positions: Int64[np.ndarray, " rows"]) -> tuple[Any, Any]:
        """Return all up to each position."""
        return 0, positions + 1


@dataclass(frozen=True, eq=False, repr=False)
class Window(_Rule):
    """The last n keys, one's own included, and some ahead."""

    n: int
    ahead: int

    def judge(self, pairs: Pairs) -> Any:
        """Return where the key is near the query."""
        return (pairs.key > pairs.query - self.n) & (pairs.key <= pairs.query + self.ahead)

    def run(self, positions: Int64[np.ndarray, " rows"]) -> tuple[Any, Any]:
        """Return the neighbourhood of each position."""
        return positions - (self.n - 1), positions + (self.ahead + 1)

    def __repr__(self) -> str:
        return f"window({self.n}, ahead={self.ahead})" if self.ahead else f"window({self.n})"


@dataclass(frozen=True, eq=False, repr=False)
class Prefix(_Rule):
    """The first n keys for everyone, and the past."""

    n: int

    def judge(self, pairs: Pairs) -> Any:
        """Return where the key is in the prefix or not after the query."""
        return (pairs.key <= pairs.query) | (pairs.key < self.n)

    def run(self, positions: Int64[np.ndarray, " rows"]) -> tuple[Any, Any]:
        """Return the prefix, and more for those past it."""
        return 0, np.maximum(positions + 1, self.n)


@dataclass(frozen=True, eq=False, repr=False)
class Chunks(_Rule):
    """The n positions of one's own chunk, before and after."""

    n: int

    def judge(self, pairs: Pairs) -> Any:
        """Return where both are in one chunk."""
        return pairs.query // self.n == pairs.key // self.n

    def run(self, positions: Int64[np.ndarray, " rows"]) -> tuple[Any, Any]:
        """Return each position's chunk."""
        start = positions // self.n * self.n
        return start, start + self.n


_FULL, _CAUSAL = Full(), Causal()


def full() -> Graph:
    """Return the graph on which every query reads every key.

    Example:
        >>> full().count(2, 3)
        6
    """
    return _FULL


def causal() -> Graph:
    """Return the graph on which a query reads its own key and those before it.

    A row that stands before the first key (there are more queries than keys) reads nothing.

    Example:
        >>> print(causal().draw(3, 3))
        ■ · ·
        ■ ■ ·
        ■ ■ ■
    """
    return _CAUSAL


def window(n: int, ahead: int = 0) -> Graph:
    """Return the graph on which a query reads the last `n` keys.

    Args:
        n: keys that each query may read up to its own, its own included; at least 1.
        ahead: keys after its own that it may read as well; at least 0, where 0 reads no future.

    Raises:
        ArgumentError: a number is not whole, or too small.

    Example:
        >>> print(window(2).draw(3, 3))
        ■ · ·
        ■ ■ ·
        · ■ ■
    """
    return Window(whole_number(n, "n of window(n)", 1), whole_number(ahead, "ahead of window(n, ahead)", 0))


def prefix(n: int) -> Graph:
    """Return the graph of a prefix language model: the first `n` keys are open to everyone, the rest is causal.

    Args:
        n: keys of the prefix; at least 1.

    Raises:
        ArgumentError: `n` is not whole, or too small.

    Example:
        >>> print(prefix(2).draw(3, 3))
        ■ ■ ·
        ■ ■ ·
        ■ ■ ■
    """
    return Prefix(whole_number(n, "n of prefix(n)", 1))


def chunks(n: int) -> Graph:
    """Return the graph on which the positions 0…n−1, n…2n−1 and so on read each other, both ways.

    Args:
        n: positions in a chunk; at least 1.

    Raises:
        ArgumentError: `n` is not whole, or too small.

    Example:
        >>> print((causal() & chunks(2)).draw(3, 3))
        ■ · ·
        ■ ■ ·
        · · ■
    """
    return Chunks(whole_number(n, "n of chunks(n)", 1))
