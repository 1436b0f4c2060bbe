"""What was most likely meant, where nobody says: read off the edges that were measured.

Some patterns nobody means: a row that reads the future alone, a triangle with one step of future, a past without
oneself. Each of those is one slip away from one that people do mean, and that one is taken.
"""

import numpy as np
from jaxtyping import Bool

from edgewise.graphs import Graph, causal, full, recognise

__all__ = ["inferred"]


def inferred(measured: Bool[np.ndarray, "query key"], others: list[Bool[np.ndarray, "query key"]]) -> tuple[Graph, str]:
    """The graph that was most likely meant, and why.

    Args:
        measured: the edges of the plain route.
        others: those of further routes.

    Example:
        >>> from edgewise.graphs import window
        >>> inferred((~causal()).dense(5, 5), [])[0], inferred(window(2).dense(5, 5), [])[0]
        (causal(), window(2))
    """
    lower = causal().dense(*measured.shape)
    named = recognise(measured)
    if (measured == lower).all():
        return causal(), "every output depends on its own token and those before it"
    for other in others:
        if (other == causal().dense(*other.shape)).all():
            return causal(), "one of its routes is causal"
    if _all(measured == ~lower) or _all(measured == ~np.tril(lower, -1)):
        return causal(), "every output depends on later tokens, the complement of what is usual"
    if _all(measured == np.tril(lower, -1)) or _all(measured == lower.T):
        return causal(), "a triangle, though not the usual one"
    future, past = measured & ~lower, measured & lower
    reach = int(np.where(future, np.arange(measured.shape[1])[None] - np.arange(measured.shape[0])[:, None], 0).max())
    if _all(past == lower) and 0 < reach <= 2 and measured.shape[0] > reach + 2:
        return causal(), f"all of the past and {reach} of the future"
    if named is not None and named != full() and measured.diagonal().all() and measured.sum() > len(measured):
        return named, "as measured"
    if not future.any() and measured.sum() > len(measured):
        return causal(), "no output depends on a later token"
    return full(), "nothing says otherwise"


def _all(cells: Bool[np.ndarray, "query key"]) -> bool:
    return bool(cells.all())
