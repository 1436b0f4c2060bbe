"""What was most likely meant, where nobody says: read off the edges that were measured.

Some patterns nobody means: a row that reads the future alone, a triangle with one step of future, a past without
oneself. Each of those is one slip away from one that people do mean, and that one is taken.
"""

import numpy as np
from jaxtyping import Bool

from edgewise.graphs import Graph, causal, full, recognise, window

__all__ = ["NOTHING", "PAST", "inferred"]

NOTHING = "nothing says otherwise"
PAST = "no output depends on a later token"


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
    if _alike(measured, lower):
        return causal(), "every output depends on its own token and those before it"
    if np.triu(measured, 1).any() and any(_alike(other, causal().dense(*other.shape)) for other in others):
        return causal(), "one of its routes is causal"
    if _alike(measured, ~lower):
        return causal(), "every output depends on later tokens alone, the complement of what is usual"
    if _alike(measured, np.where(lower.all(1, keepdims=True), True, ~lower)):
        return causal(), "every output depends on later tokens alone, and the last, which has none, on all"
    future = np.triu(measured, 1)
    for ahead in (1, 2):
        if ahead + 2 < len(measured) and _alike(measured, window(len(measured), ahead=ahead).dense(*measured.shape)):
            return causal(), f"all of the past and {ahead} of the future"
    alone = _alike(measured, np.zeros_like(measured))
    # What a token says reaches its own output beside attention, so that a hidden diagonal may not be seen.
    named = recognise(measured) or recognise(measured | np.eye(*measured.shape, dtype=bool))
    if named is not None and not alone:
        return named, "as measured"
    if not future.any() and not alone:
        return causal(), PAST
    return full(), NOTHING


def _alike(one: Bool[np.ndarray, "query key"], other: Bool[np.ndarray, "query key"]) -> bool:
    """Whether edges are equal but for the diagonal."""
    differ = one != other
    if differ.shape[0] == differ.shape[1]:
        np.fill_diagonal(differ, False)
    return not differ.any()
