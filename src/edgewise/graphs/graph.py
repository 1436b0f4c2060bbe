"""The mask as a value: which (query, key) edges exist, for any lengths, and how graphs combine by `&`, `|` and `~`.

A graph says nothing of lengths until it is asked. Lengths are aligned at the end: of `query` rows and `key` columns the
last row stands at the last column, so row t stands at position t + key − query.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int64

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs.ranges import Ranges, complement, intersection, union

if TYPE_CHECKING:
    from edgewise.graphs.blocks import Block
    from edgewise.graphs.difference import Difference

__all__ = ["And", "Graph", "Not", "Or", "whole_number"]

# Runs held at once while counting or comparing: 2 × 8 bytes each, a few copies of them.
ROWS_AT_ONCE = 1 << 16


class Graph(ABC):
    """Which query may read which key: a frozen value, hashable, equal to a graph built in the same way.

    Example:
        >>> from edgewise.graphs import causal, chunks, window
        >>> graph = window(3) & chunks(4)
        >>> graph.count(8, 8)
        18
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

    @property
    @abstractmethod
    def identity(self) -> tuple[Any, ...]:
        """What the graph is made of, as a tuple that can be compared and hashed."""

    @abstractmethod
    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        """Return the rule on positions, taking from `arrays` what the graph indexes."""

    @abstractmethod
    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        """Return the keys in [low, high) that each row, standing at its position, may read."""

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that the graph indexes (document ids, kept keys), in the order in which it reads them."""
        return ()

    def allows(self, query: Any, key: Any, batch: Any = None, arrays: Sequence[Any] | None = None) -> Any:
        """Return whether the query at one position may read the key at another, elementwise.

        Args:
            query: positions: an integer, a numpy array or a torch tensor; a row before the first key is negative.
            key: positions, at least 0, of a shape that broadcasts with `query`.
            batch: which sequence, for a graph that differs by sequence; broadcasts too.
            arrays: stand-ins for `arrays()`, for instance as torch tensors on a device.
        """
        return self._allows(query, key, batch, iter(self.arrays() if arrays is None else arrays))

    def cells(self, rows: slice, keys: slice, query: int, key: int) -> Bool[np.ndarray, "*batch rows keys"]:
        """Return a rectangle of `dense`, computing that rectangle only."""
        self._check(query, key)
        at = np.arange(*rows.indices(query))[:, None] + (key - query)
        to = np.arange(*keys.indices(key))[None, :]
        batch = None if self.batch is None else np.arange(self.batch)[:, None, None]
        lead = () if self.batch is None else (self.batch,)
        return np.array(np.broadcast_to(self.allows(at, to, batch), (*lead, at.size, to.size)))

    def dense(self, query: int, key: int) -> Bool[np.ndarray, "*batch query key"]:
        """Return the graph as booleans, True where there is an edge: O(query × key)."""
        return self.cells(slice(None), slice(None), query, key)

    def ranges(self, query: int, key: int, rows: slice | None = None) -> Ranges:
        """Return the keys of each row, or of some rows, as runs: O(rows × runs)."""
        self._check(query, key)
        positions = np.arange(*(rows or slice(None)).indices(query), dtype=np.int64) + (key - query)
        low, high = np.zeros(positions.size, np.int64), np.full(positions.size, key, np.int64)
        found = self._within(positions, key, low, high)
        if self.batch is None or found.batch is not None:
            return found
        start, stop = (np.broadcast_to(one, (self.batch, *one.shape)) for one in (found.start, found.stop))
        return Ranges(start, stop, key)

    def count(self, query: int, key: int) -> int:
        """Return the number of edges, over all sequences where the graph differs by sequence: O(query × runs)."""
        return sum(int(part.counts().sum()) for part in self._parts(query, key))

    def equals(self, other: "Graph", query: int, key: int) -> bool:
        """Return whether both have the same edges at these lengths, however they were built: O(query × runs)."""
        pairs = zip(self._parts(query, key), other._parts(query, key), strict=True)
        return all(one.same(another) for one, another in pairs)

    def _parts(self, query: int, key: int) -> Iterator[Ranges]:
        self._check(query, key)
        step = max(1, ROWS_AT_ONCE // (self.batch or 1))
        return (self.ranges(query, key, slice(first, first + step)) for first in range(0, query, step))

    # What follows is told elsewhere: those files know every rule, the rules know this one, so they are imported late.

    def blocks(self, query: int, key: int, rows: int = 128) -> "tuple[Block, ...]":
        """Return rectangles that hold every edge and few other cells, for kernels: see `edgewise.graphs.blocks`."""
        from edgewise.graphs.blocks import blocks

        return blocks(self, query, key, rows)

    def difference(self, other: "Graph", query: int, key: int) -> "Difference | None":
        """Return where this graph, as found, differs from `other`, as declared; None where they are equal."""
        from edgewise.graphs.difference import difference

        return difference(self, other, query, key)

    def draw(self, query: int, key: int, *, width: int = 80, labels: Sequence[str] | None = None) -> str:
        """Return a picture of the graph for the terminal: see `edgewise.graphs.drawing`."""
        from edgewise.graphs.drawing import draw

        return draw(self, query, key, width=width, labels=labels)

    def _check(self, query: int, key: int) -> None:
        whole_number(query, "query", least=0)
        whole_number(key, "key", least=0)
        if self.length is not None and self.length != key:
            raise ShapeError(
                f"{self!r} is made for {self.length} keys; asked for key={key} (query={query}): "
                "its ids or keep must have one entry a key, past ones in a cache included"
            )

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, self.identity))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or (type(self) is type(other) and self.identity == other.identity)

    def __hash__(self) -> int:
        return self._hash

    def __and__(self, other: "Graph") -> "Graph":
        return And(*_operands(And, self, other)) if isinstance(other, Graph) else _not_a_graph("&", other)

    def __or__(self, other: "Graph") -> "Graph":
        return Or(*_operands(Or, self, other)) if isinstance(other, Graph) else _not_a_graph("|", other)

    def __invert__(self) -> "Graph":
        return Not(self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a graph is a value and does not change: build a new one instead of setting {name!r}")


class _Combined(Graph):
    """What `&` and `|` share: two or more parts that fit each other, read from left to right."""

    symbol: str
    combine: Callable[[Any, Any], Any]
    parts: tuple[Graph, ...]

    def __init__(self, *parts: Graph) -> None:
        self.__dict__["parts"] = parts
        self.__dict__["_batch"] = _agreed("sequences", self.symbol, [(part, part.batch) for part in parts], spread=True)
        self.__dict__["_length"] = _agreed("keys", self.symbol, [(part, part.length) for part in parts])

    @property
    def batch(self) -> int | None:
        return self.__dict__["_batch"]

    @property
    def length(self) -> int | None:
        return self.__dict__["_length"]

    @property
    def identity(self) -> tuple[Any, ...]:
        return self.parts

    def arrays(self) -> tuple[np.ndarray, ...]:
        return tuple(array for part in self.parts for array in part.arrays())

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        return reduce(type(self).combine, [part._allows(query, key, batch, arrays) for part in self.parts])

    def __repr__(self) -> str:
        return f" {self.symbol} ".join(f"({part!r})" if isinstance(part, Or) else repr(part) for part in self.parts)


class And(_Combined):
    """The edges that every part has."""

    symbol = "&"
    combine = operator.and_

    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        # Each part looks only between the first and last key that the parts before it left: plain rules, one run each,
        # go first, so that a window over kept keys costs what the window holds and not what the text holds.
        first, *rest = sorted(self.parts, key=lambda part: isinstance(part, _Combined | Not) + bool(part.arrays()))
        found = first._within(positions, key, low, high)
        for part in rest:
            more = part._within(positions, key, *found.hull())
            found = more if found.runs == 1 else intersection(found, more)
        return found


class Or(_Combined):
    """The edges that any part has."""

    symbol = "|"
    combine = operator.or_

    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        return union([part._within(positions, key, low, high) for part in self.parts])


class Not(Graph):
    """The edges that its part does not have."""

    part: Graph

    def __init__(self, part: Graph) -> None:
        self.__dict__["part"] = part

    @property
    def batch(self) -> int | None:
        return self.part.batch

    @property
    def length(self) -> int | None:
        return self.part.length

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.part,)

    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.part.arrays()

    def _allows(self, query: Any, key: Any, batch: Any, arrays: Iterator[Any]) -> Any:
        # `~` would turn a plain True into −2.
        return self.part._allows(query, key, batch, arrays) ^ True

    def _within(
        self,
        positions: Int64[np.ndarray, " rows"],
        key: int,
        low: Int64[np.ndarray, "*batch rows"],
        high: Int64[np.ndarray, "*batch rows"],
    ) -> Ranges:
        return complement(self.part._within(positions, key, low, high), low, high)

    def __invert__(self) -> Graph:
        return self.part

    def __repr__(self) -> str:
        return f"~({self.part!r})" if isinstance(self.part, _Combined) else f"~{self.part!r}"


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


def _operands(kind: type[_Combined], one: Graph, other: Graph) -> list[Graph]:
    return [part for graph in (one, other) for part in (graph.parts if isinstance(graph, kind) else (graph,))]


def _not_a_graph(symbol: str, other: object) -> Graph:
    raise ArgumentError(
        f"a graph {symbol} something wants a graph on both sides; got {type(other).__name__}: "
        "a padding mask becomes one by keys(keep), document ids by documents(ids), text by parse(text)"
    )


def _agreed(what: str, symbol: str, sizes: list[tuple[Graph, int | None]], *, spread: bool = False) -> int | None:
    """Return the one size that all parts that have one share; with `spread`, 1 fits any."""
    known = [(part, size) for part, size in sizes if size is not None]
    wide = [(part, size) for part, size in known if not (spread and size == 1)] or known
    for part, size in wide[1:]:
        if size != wide[0][1]:
            raise ShapeError(
                f"both sides of {symbol} must be made for the same number of {what}; "
                f"got {wide[0][1]} in {wide[0][0]!r} and {size} in {part!r}"
            )
    return wide[0][1] if wide else None
