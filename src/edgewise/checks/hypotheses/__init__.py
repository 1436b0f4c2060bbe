"""Hypotheses: what a wrong mask looks like. What was measured is compared with what each mistake would show.

Each hypothesis predicts, cell by cell, what is visible if one certain mistake was made, and says the mistake in words.
A prediction that fits exactly names kind and cause; where none fits, nothing is named that was not seen. `explained`
knows all mistakes in the mask of one sequence; `layouts` those that let rows of a batch read each other; `headed` those
that let heads and tokens change places; `handed_out` those that give rows and heads each other's masks.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool

from edgewise.checks.hypotheses.hypothesis import DEEPEST, Hypothesis, Places, matching, places, reached
from edgewise.checks.hypotheses.layouts import Layout, headed, layouts
from edgewise.checks.hypotheses.parts import parts
from edgewise.checks.hypotheses.shared import HandedOut, handed_out
from edgewise.checks.hypotheses.whole import seen, whole
from edgewise.graphs import Graph, causal

__all__ = [
    "DEEPEST",
    "HandedOut",
    "Hypothesis",
    "Layout",
    "Places",
    "explained",
    "handed_out",
    "headed",
    "hypotheses",
    "layouts",
    "matching",
    "places",
    "reached",
    "seen",
]


def hypotheses(graph: Graph) -> Iterator[Hypothesis]:
    """Yield every way in which the mask of one sequence can be wrong, where `graph` was meant.

    Example:
        >>> from edgewise.graphs import window
        >>> next(one.likely for one in hypotheses(window(3)) if one.kind == "C1")
        'window off by one: distance ≤ 3 is kept where distance < 3 was meant, so 4 keys are visible'
    """
    yield from parts(graph)
    yield from whole(graph)
    if graph != causal():
        yield Hypothesis("C2", "plain causal: nothing else of the mask is applied", lambda at: at.key <= at.query)


def explained(
    measured: Bool[np.ndarray, "query key"],
    graph: Graph,
    *,
    new: Sequence[int] = (),
    rows: Bool[np.ndarray, " query"] | None = None,
    exact: bool = True,
    layers: int = 0,
) -> Hypothesis | None:
    """Return the mistake that predicts what was measured, or None.

    Args:
        measured: which cells are visible.
        graph: what was meant, for this one sequence.
        new: new tokens call after call, where a cache lies between them.
        rows: the rows that count; None for all.
        exact: whether `measured` is the mask itself; else it is what moves what.
        layers: how many, in that case; 0 where nobody knows.

    Example:
        >>> upper = ~causal().dense(5, 5)
        >>> print(explained(upper, causal()).likely)
        True means hide here, but it is read as keep: what is visible is the complement of the mask
    """
    at = places(*measured.shape, new=new)
    meant = np.broadcast_to(np.asarray(seen(graph, at.query, at.key), dtype=bool), measured.shape) & (at.key < at.there)
    return matching(measured, hypotheses(graph), at, rows=rows, expected=meant, exact=exact, layers=layers)
