"""The mask as a value: which (query, key) edges exist, for any lengths.

A graph says nothing of lengths until it is asked. Lengths are aligned at the end: of `query` rows and `key` columns the
last row stands at the last column, so row t stands at position t + key − query.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int64

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs.ranges import Ranges, Rows

if TYPE_CHECKING:
    from edgewise.graphs.blocks import Block
    from edgewise.graphs.difference import Difference

__all__ = ["Graph", "Pairs", "whole_number"]

# Rows looked at together while counting or comparing: bounds the memory, costs no time.
ROWS_AT_ONCE = 1 << 16


class Pairs(NamedTuple):
    """Pairs of positions to judge, and what a rule needs besides: which sequence, and the arrays still to be read."""

    query: Any
    key: Any
    batch: Any
    arrays: Iterator[Any]


class Graph(ABC):
    """Which query may read which key: a frozen value, hashable, equal to a graph that was built in the same way.

    Example:
        >>> from edgewise.graphs import causal, chunks, window
        >>> graph = window(3) & chunks(4)
        >>> graph.count(8, 8)
        18
        >>> graph
        window(3) & chunks(4)
        >>> print((causal() & chunks(2)).draw(4, 4))
        ■ · · ·
        ■ ■ · ·
        · · ■ ·
        · · ■ ■
    """

    @property
    def batch(self) -> int | None:
        """Sequences that have edges of their own; None where the graph is the same for all."""
        return None

    @property
    def length(self) -> int | None:
        """Number of keys that the graph is made for; None where it fits any."""
        return None

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that the graph indexes (document ids, kept keys), in the order in which it reads them."""
        return ()

    @abstractmethod
    def identity(self) -> tuple[Any, ...]:
        """Return what the graph is made of, to compare and hash."""

    @abstractmethod
    def judge(self, pairs: Pairs) -> Any:
        """Return the rule on positions: `allows`, for use between graphs."""

    @abstractmethod
    def find(self, rows: Rows) -> Ranges:
        """Return the keys that each row may read in its stretch: `ranges`, for use between graphs."""

    def allows(self, query: Any, key: Any, batch: Any = None, arrays: Sequence[Any] | None = None) -> Any:
        """Return whether the query at one position may read the key at another, elementwise.

        Args:
            query: positions: an integer, a numpy array or a torch tensor; a row before the first key is negative.
            key: positions, at least 0, of a shape that broadcasts with `query`.
            batch: which sequence, for a graph that differs by sequence; broadcasts too.
            arrays: stand-ins for `arrays()`, for instance as torch tensors on a device.
        """
        return self.judge(Pairs(query, key, batch, iter(self.arrays() if arrays is None else arrays)))

    def cells(self, rows: slice, keys: slice, query: int, key: int) -> Bool[np.ndarray, "*batch rows keys"]:
        """Return a rectangle of `dense`, at the cost of that rectangle."""
        self.check(query, key)
        at = np.arange(*rows.indices(query))[:, None] + (key - query)
        to = np.arange(*keys.indices(key))[None, :]
        lead = () if self.batch is None else (self.batch,)
        batch = None if self.batch is None else np.arange(self.batch)[:, None, None]
        return np.array(np.broadcast_to(self.allows(at, to, batch), (*lead, at.size, to.size)))

    def dense(self, query: int, key: int) -> Bool[np.ndarray, "*batch query key"]:
        """Return the graph as booleans, True where there is an edge: O(query × key)."""
        return self.cells(slice(None), slice(None), query, key)

    def ranges(self, query: int, key: int, rows: slice | None = None) -> Ranges:
        """Return the keys of each row, or of some rows, as runs: O(rows × runs)."""
        self.check(query, key)
        positions = np.arange(*(rows or slice(None)).indices(query), dtype=np.int64) + (key - query)
        found = self.find(Rows.of(positions, key))
        return found if self.batch is None else found.spread(self.batch)

    def parts(self, query: int, key: int) -> Iterator[tuple[int, Ranges]]:
        """Yield `ranges` a stretch of rows at a time, each with its first row, in memory that does not grow."""
        self.check(query, key)
        step = max(1, ROWS_AT_ONCE // (self.batch or 1))
        return ((first, self.ranges(query, key, slice(first, first + step))) for first in range(0, query, step))

    def count(self, query: int, key: int) -> int:
        """Return the number of edges, over all sequences where the graph differs by sequence: O(query × runs)."""
        return sum(int(part.counts().sum()) for _, part in self.parts(query, key))

    def equals(self, other: "Graph", query: int, key: int) -> bool:
        """Return whether both have the same edges at these lengths, however they were built: O(query × runs)."""
        return self.difference(other, query, key) is None

    # What follows is told in other files. They know every rule and the rules know this one, so they are imported late.

    def blocks(self, query: int, key: int, rows: int = 128) -> "tuple[Block, ...]":
        """Return rectangles that hold every edge and few other cells, for kernels: see `edgewise.graphs.blocks`."""
        from edgewise.graphs.blocks import blocks

        return blocks(self, query, key, rows)

    def tiles(self, query: int, key: int, rows: int, keys: int) -> Int64[np.ndarray, "*batch lines columns"]:
        """Return the number of edges in each tile of a grid: see `edgewise.graphs.tiles`."""
        from edgewise.graphs.tiles import tiles

        return tiles(self, query, key, rows, keys)

    def difference(self, declared: "Graph", query: int, key: int) -> "Difference | None":
        """Return where this graph, as measured, differs from `declared`; None where they are equal."""
        from edgewise.graphs.difference import difference

        return difference(self, declared, query, key)

    def draw(self, query: int, key: int, *, width: int = 80, labels: Sequence[str] | None = None) -> str:
        """Return a picture for the terminal, at most `width` characters wide: see `edgewise.graphs.drawing`."""
        from edgewise.graphs.drawing import draw

        return draw(self, query, key, width=width, labels=labels)

    def __and__(self, other: "Graph") -> "Graph":
        from edgewise.graphs.algebra import both

        return both(self, other)

    def __or__(self, other: "Graph") -> "Graph":
        from edgewise.graphs.algebra import either

        return either(self, other)

    def __invert__(self) -> "Graph":
        from edgewise.graphs.algebra import Not

        return Not(self)

    def check(self, query: int, key: int) -> None:
        """Raise where the graph cannot be asked about these lengths.

        Raises:
            ArgumentError: a length is no whole number, or is negative.
            ShapeError: the graph is made for another number of keys.
        """
        whole_number(query, "query", least=0)
        whole_number(key, "key", least=0)
        if self.length is not None and self.length != key:
            raise ShapeError(
                f"{self!r} is made for {self.length} keys; asked for key={key} (query={query}): "
                "its ids or keep must have one entry for each key, those in a cache included"
            )

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, self.identity()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or (type(self) is type(other) and self.identity() == other.identity())

    def __hash__(self) -> int:
        return self._hash


def whole_number(value: Any, name: str, least: int) -> int:
    """Return `value` as an int.

    Raises:
        ArgumentError: it is not a whole number, or is below `least`.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ArgumentError(f"{name} must be a whole number, at least {least}; got {value!r} ({type(value).__name__})")
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}; got {number}")
    return number
