"""The rules that need no data: causal, full, window, prefix, chunks. Each is one run of keys a row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Int64

from edgewise.graphs.graph import Graph, whole_number
from edgewise.graphs.ranges import Ranges, single

__all__ = ["Causal", "Chunks", "Full", "Prefix", "Window", "causal", "chunks", "full", "prefix", "window"]


class _Rule(Graph):
    """A rule with whole numbers as its only content, and one run a row."""

    def __init__(self, **numbers: int) -> None:
        self.__dict__.update(numbers)

    @property
    def identity(self) -> tuple[Any, ...]:
        return ()

    def _run(self, positions: Int64[np.ndarray, " rows"], key: int) -> tuple[Any, Any]:
        """Return first key and one past the last, before they are held between the ends of the line."""
        raise NotImplementedError

    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        start, stop = self._run(positions, key)
        return single(np.maximum(start, low), np.minimum(stop, high), key)


class Full(_Rule):
    """Everyone reads everyone."""

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        return key >= query * 0

    def _run(self, positions: Int64[np.ndarray, " rows"], key: int) -> tuple[Any, Any]:
        return 0, key

    def __repr__(self) -> str:
        return "full()"


class Causal(_Rule):
    """No one reads the future."""

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        return key <= query

    def _run(self, positions: Int64[np.ndarray, " rows"], key: int) -> tuple[Any, Any]:
        return 0, positions + 1

    def __repr__(self) -> str:
        return "causal()"


class Window(_Rule):
    """The last n keys, one's own included, and some ahead."""

    n: int
    ahead: int

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.n, self.ahead)

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        return (key > query - self.n) & (key <= query + self.ahead)

    def _run(self, positions: Int64[np.ndarray, " rows"], key: int) -> tuple[Any, Any]:
        return positions - (self.n - 1), positions + (self.ahead + 1)

    def __repr__(self) -> str:
        return f"window({self.n}, ahead={self.ahead})" if self.ahead else f"window({self.n})"


class Prefix(_Rule):
    """The first n keys for everyone, and the past."""

    n: int

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.n,)

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        return (key <= query) | (key < self.n)

    def _run(self, positions: Int64[np.ndarray, " rows"], key: int) -> tuple[Any, Any]:
        return 0, np.maximum(positions + 1, self.n)

    def __repr__(self) -> str:
        return f"prefix({self.n})"


class Chunks(_Rule):
    """The n positions of one's own chunk, before and after."""

    n: int

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.n,)

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        return query // self.n == key // self.n

    def _run(self, positions: Int64[np.ndarray, " rows"], key: int) -> tuple[Any, Any]:
        start = positions // self.n * self.n
        return start, start + self.n

    def __repr__(self) -> str:
        return f"chunks({self.n})"


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

    A row that stands before the first key (more queries than keys) reads nothing.

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
    return Window(n=whole_number(n, "n of window(n)", 1), ahead=whole_number(ahead, "ahead of window(n, ahead)", 0))


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
    return Prefix(n=whole_number(n, "n of prefix(n)", 1))


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
    return Chunks(n=whole_number(n, "n of chunks(n)", 1))
