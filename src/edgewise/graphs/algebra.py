"""How graphs combine: `one & other`, `one | other`, `~one`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, ClassVar

import numpy as np

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs.graph import Graph, Pairs
from edgewise.graphs.ranges import Ranges, Rows, complement, intersection, union

__all__ = ["And", "Not", "Or", "both", "either"]


@dataclass(frozen=True, eq=False, repr=False)
class _Combined(Graph):
    """What `&` and `|` share: operands that fit each other, from left to right."""

    operands: tuple[Graph, ...]
    symbol: ClassVar[str]
    combine: ClassVar[Callable[[Any, Any], Any]]

    def __post_init__(self) -> None:
        _ = self._sizes

    @cached_property
    def _sizes(self) -> tuple[int | None, int | None]:
        lengths = [(one, one.length) for one in self.operands if one.length is not None]
        batches = [(one, one.batch) for one in self.operands if one.batch is not None]
        # A batch of one sequence fits any, as it does everywhere else.
        wide = [(one, size) for one, size in batches if size != 1] or batches
        return _agreed("sequences", self.symbol, wide), _agreed("keys", self.symbol, lengths)

    @property
    def batch(self) -> int | None:
        """Sequences that have edges of their own."""
        return self._sizes[0]

    @property
    def length(self) -> int | None:
        """Number of keys that an operand is made for."""
        return self._sizes[1]

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return those of all operands."""
        return tuple(array for one in self.operands for array in one.arrays())

    def identity(self) -> tuple[Any, ...]:
        """Return the operands, in their order."""
        return self.operands

    def judge(self, pairs: Pairs) -> Any:
        """Return all operands' answers combined."""
        return reduce(type(self).combine, [one.judge(pairs) for one in self.operands])

    def __repr__(self) -> str:
        return f" {self.symbol} ".join(f"({one!r})" if isinstance(one, Or) else repr(one) for one in self.operands)


class And(_Combined):
    """The edges that every operand has."""

    symbol = "&"
    combine = and_

    def find(self, rows: Rows) -> Ranges:
        """Return the keys that all operands allow."""
        # Each operand looks only between the first and last key that those before it left. Plain rules, of one run a
        # row, go first: then a window over kept keys costs what the window holds, not what the text holds.
        first, *rest = sorted(self.operands, key=lambda one: isinstance(one, _Combined | Not) + bool(one.arrays()))
        found = first.find(rows)
        for one in rest:
            more = one.find(Rows(rows.positions, rows.key, *found.hull()))
            found = more if found.runs == 1 else intersection(found, more)
        return found


class Or(_Combined):
    """The edges that any operand has."""

    symbol = "|"
    combine = or_

    def find(self, rows: Rows) -> Ranges:
        """Return the keys that one operand or more allows."""
        return union([one.find(rows) for one in self.operands])


@dataclass(frozen=True, eq=False, repr=False)
class Not(Graph):
    """The edges that its operand does not have."""

    operand: Graph

    @property
    def batch(self) -> int | None:
        """That of the operand."""
        return self.operand.batch

    @property
    def length(self) -> int | None:
        """That of the operand."""
        return self.operand.length

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return those of the operand."""
        return self.operand.arrays()

    def identity(self) -> tuple[Any, ...]:
        """Return the operand."""
        return (self.operand,)

    def judge(self, pairs: Pairs) -> Any:
        """Return the opposite of the operand's answer."""
        # `~` would turn a plain True into −2.
        return self.operand.judge(pairs) ^ True

    def find(self, rows: Rows) -> Ranges:
        """Return the keys that the operand leaves out."""
        return complement(self.operand.find(rows), rows)

    def __invert__(self) -> Graph:
        return self.operand

    def __repr__(self) -> str:
        return f"~({self.operand!r})" if isinstance(self.operand, _Combined) else f"~{self.operand!r}"


def both(one: Graph, other: Graph) -> Graph:
    """Return `one & other`, flat where an operand is itself such a chain."""
    return And(_operands(And, one, other))


def either(one: Graph, other: Graph) -> Graph:
    """Return `one | other`, flat where an operand is itself such a chain."""
    return Or(_operands(Or, one, other))


def _operands(kind: type[_Combined], one: Graph, other: object) -> tuple[Graph, ...]:
    if not isinstance(other, Graph):
        raise ArgumentError(
            f"a graph {kind.symbol} something wants a graph on both sides; got {type(other).__name__}: "
            "a padding mask becomes one by keys(keep), document ids by documents(ids), text by parse(text)"
        )
    return tuple(part for graph in (one, other) for part in (graph.operands if isinstance(graph, kind) else (graph,)))


def _agreed(what: str, symbol: str, sizes: list[tuple[Graph, int]]) -> int | None:
    for one, size in sizes[1:]:
        if size != sizes[0][1]:
            raise ShapeError(
                f"both sides of {symbol} must be made for the same number of {what}; "
                f"got {sizes[0][1]} in {sizes[0][0]!r} and {size} in {one!r}"
            )
    return sizes[0][1] if sizes else None
