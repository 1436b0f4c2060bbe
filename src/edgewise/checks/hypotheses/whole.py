"""What goes wrong with a mask as a whole: left out, turned round, complemented, aligned at the wrong end."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.checks.hypotheses.hypothesis import Hypothesis
from edgewise.graphs import Graph

__all__ = ["seen", "whole"]


def seen(graph: Graph, query: Any, key: Any) -> Any:
    """Return the cells of a graph at positions that may lie before the first key or behind the last."""
    last = None if graph.length is None else graph.length - 1
    clipped = (query, key) if last is None else (query.clip(0, last), key.clip(0, last))
    return graph.allows(*clipped)


def whole(graph: Graph) -> Iterator[Hypothesis]:
    """Yield what would be visible instead of `graph`, the most frequent mistakes first."""
    first, second = np.array(0), np.array(1)
    both_ways = bool(seen(graph, first, second) and seen(graph, second, first))
    yield Hypothesis(
        "G1",
        "True means hide here, but it is read as keep: what is visible is the complement of the mask",
        lambda at: ~seen(graph, at.query, at.key),
    )
    yield Hypothesis(
        "G1",
        "the mask has the wrong sign: what should be hidden outweighs the rest, and a row that hides nothing reads all",
        lambda at: _outweighed(~seen(graph, at.query, at.key) & (at.key < at.there), at.key < at.there),
    )
    yield Hypothesis(
        "B1",
        "triangle aligned top-left, T_q≠T_k: row i of a call sees keys 0…i, however many keys came before",
        lambda at: seen(graph, at.within, at.key),
    )
    yield Hypothesis("A1", "no mask is applied here", lambda at: at.key < at.there)
    yield Hypothesis(
        "A1",
        "the mask is not applied to several new tokens behind a cache: they see each other, later ones included",
        lambda at: seen(graph, at.query, at.key) | (at.within != at.query) & (at.key > at.query),
    )
    if both_ways:
        yield Hypothesis(
            "B3",
            "causal where both directions were meant: is_causal=True, or a decoder's mask in an encoder or in cross "
            "attention",
            lambda at: seen(graph, at.query, at.key) & (at.key <= at.query),
        )
        yield Hypothesis(
            "B3",
            "causal with a triangle aligned top-left where everything was meant to be read",
            lambda at: seen(graph, at.query, at.key) & (at.key <= at.within),
        )
    yield Hypothesis(
        "B2",
        "the query's own key is hidden: tril(-1), or < instead of ≤",
        lambda at: seen(graph, at.query, at.key) & (at.query != at.key),
    )
    yield Hypothesis(
        "B2",
        "the query's own key is hidden: tril(-1), or < instead of ≤; the first token alone sees itself",
        lambda at: seen(graph, at.query, at.key) & ((at.query != at.key) | (at.query == 0)),
    )
    yield from _turned(graph)


def _outweighed(hidden: Any, there: Any) -> Any:
    return np.where(hidden.any(-1, keepdims=True), hidden, there)


def _turned(graph: Graph) -> Iterator[Hypothesis]:
    yield Hypothesis(
        "A2",
        "the triangle is transposed: triu instead of tril, or rows and columns exchanged",
        lambda at: seen(graph, at.key, at.query),
    )
    yield Hypothesis(
        "A2",
        "the triangle stands one too high: tril(1), or key ≤ query + 1: each token sees the next one",
        lambda at: seen(graph, at.query + 1, at.key) | seen(graph, at.query, at.key),
    )
    yield Hypothesis(
        "A2",
        "the triangle stands one too high and one too far: each token sees what the next one should",
        lambda at: seen(graph, at.query + 1, at.key),
    )
    yield Hypothesis(
        "B1",
        "the triangle stands one too low: each token sees what the one before should",
        lambda at: seen(graph, at.query - 1, at.key),
    )
    yield Hypothesis(
        "A2",
        "the triangle is flipped: its rows or columns run backwards",
        lambda at: seen(graph, at.keys - 1 - at.query, at.key),
    )
    yield Hypothesis(
        "A2",
        "the triangle is flipped: its rows or columns run backwards",
        lambda at: seen(graph, at.query, at.keys - 1 - at.key),
    )
