"""Edges that the rules have no word for, where nobody says what was meant: a slip, a design, or a choice by content."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool

from edgewise.checks.hypotheses import explained, headed
from edgewise.checks.meaning.expected import Expected, expectation
from edgewise.graphs import Graph, causal, full

__all__ = ["unnamed"]

Cells = Bool[np.ndarray, "query key"]


def unnamed(rows: Sequence[Cells], heads: int) -> Expected | None:
    """What edges without a name were meant to be; None where one known slip makes them of all, or of all the past.

    Args:
        rows: who reads whom, in several inputs.
        heads: how many there are; 0 where nobody knows.

    Example:
        >>> every_other = np.eye(8, dtype=bool) | (np.arange(8) % 3 == 0)
        >>> str(unnamed([every_other], 1))
        'edges without a name (inferred: as measured)'
        >>> unnamed([np.tril(np.ones((8, 8), dtype=bool), 1)], 1) is None
        True
    """
    together = np.logical_or.reduce(list(rows))
    query, key = together.shape
    past = not bool(np.triu(together, 1 + key - query).any())
    bound = causal() if past else full()
    if any(bool((one != rows[0]).any()) for one in rows):
        says = "which tokens are read depends on what they hold"
        return expectation(bound, query, key, "inferred", says, exact=False)
    if any(_slip(together, graph, heads) for graph in dict.fromkeys((causal(), bound))):
        return None
    return Expected(None, torch.from_numpy(together), "inferred", "as measured", exact=False)


def _slip(cells: Cells, graph: Graph, heads: int) -> bool:
    """Whether one known mistake in the mask, or heads and tokens that change places, show just this."""
    if explained(cells, graph) is not None or explained(cells, graph, exact=False) is not None:
        return True
    if cells.shape[0] != cells.shape[1]:
        return False
    meant = graph.dense(*cells.shape)
    apart = ~np.eye(len(cells), dtype=bool)
    return any(not ((one.cells[0, :, 0] != cells) & apart).any() for one in headed(meant, heads))
