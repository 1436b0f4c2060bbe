"""What the graph should be: declared, else as the config says, else inferred; over all layers of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from edgewise.checks.meaning.declared import Declared
from edgewise.graphs import Graph, documents, keys, recognise, window
from edgewise.graphs.algebra import And, Not, Or
from edgewise.graphs.listed import Documents, Keys
from edgewise.graphs.rules import Window

__all__ = ["Expected", "Source", "composed", "declared_graph", "expectation", "fitted"]

Source = Literal["declared", "given", "config", "inferred"]


@dataclass(frozen=True, eq=False)
class Expected:
    """Who should read whom."""

    graph: Graph | None
    """None where the rules have no word for it."""
    cells: Tensor
    """bool (query, key)"""
    source: Source
    says: str
    """Who says so, in words."""
    exact: bool = True
    """Whether every edge should be there, and no more than that no other should."""

    @property
    def causal(self) -> bool:
        """Whether nobody should read the future."""
        query, key = self.cells.shape
        return not bool(self.cells.triu(1 + key - query).any())

    def __str__(self) -> str:
        named = "edges without a name" if self.graph is None else repr(self.graph)
        return f"{named} ({self.source}: {self.says})"


def declared_graph(declared: Declared) -> Graph | None:
    """The declared graph, with windows that count the query's own key."""
    if declared.graph is None or declared.window_counts_self:
        return declared.graph
    return _one_more(declared.graph)


def expectation(graph: Graph, query: int, key: int, source: Source, says: str, *, exact: bool = True) -> Expected:
    """A graph at these lengths."""
    cells = (fitted(graph, key) or graph).dense(query, key)
    return Expected(graph, torch.from_numpy(cells[0] if cells.ndim == 3 else cells), source, says, exact)


def fitted(graph: Graph, key: int) -> Graph | None:
    """The graph over so many keys, where a list in it is longer: its first entries; None where one is shorter.

    Example:
        >>> from edgewise.graphs import causal, keys
        >>> fitted(causal() & keys([True, False, True]), 2), fitted(keys([True]), 2)
        (causal() & keys([1, 0]), None)
    """
    if isinstance(graph, Documents | Keys):
        listed = documents if isinstance(graph, Documents) else keys
        return None if graph.values.shape[-1] < key else listed(graph.values[..., :key])
    if not isinstance(graph, Not | And | Or):
        return graph
    parts = [fitted(one, key) for one in ([graph.operand] if isinstance(graph, Not) else graph.operands)]
    known = [one for one in parts if one is not None]
    if len(known) < len(parts):
        return None
    return ~known[0] if isinstance(graph, Not) else _joined(graph, known)


def composed(layers: Sequence[Bool[np.ndarray, "query query"]]) -> tuple[Graph | None, Bool[np.ndarray, "query query"]]:
    """Who depends on whom after all layers, each of which keeps what was there: and what that graph is called.

    Example:
        >>> composed([window(3).dense(9, 9)] * 2)[0]
        window(5)
    """
    length = layers[0].shape[0]
    found = np.eye(length, dtype=bool)
    for layer in layers:
        found = (layer | np.eye(length, dtype=bool)) @ found
    # One layer alone has no residual that would show a hidden diagonal.
    found = layers[0] if len(layers) == 1 else found
    return recognise(found), found


def _one_more(graph: Graph) -> Graph:
    if isinstance(graph, Window):
        return window(graph.n + 1, graph.ahead)
    if isinstance(graph, Not):
        return ~_one_more(graph.operand)
    if isinstance(graph, And | Or):
        return _joined(graph, [_one_more(one) for one in graph.operands])
    return graph


def _joined(graph: And | Or, operands: Sequence[Graph]) -> Graph:
    first, *rest = operands
    for one in rest:
        first = first & one if isinstance(graph, And) else first | one
    return first
