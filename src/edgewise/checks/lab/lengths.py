"""How long inputs should be: a usual length, an odd one, and one beyond every window, chunk and prefix known."""

from collections.abc import Iterator
from typing import Any

from edgewise.checks.calls.subject import Subject
from edgewise.checks.meaning.declared import Declared
from edgewise.checks.meaning.expected import declared_graph
from edgewise.checks.meaning.intended import said
from edgewise.graphs import Graph
from edgewise.graphs.algebra import And, Not, Or
from edgewise.graphs.rules import Chunks, Prefix, Window

__all__ = ["lengths_of", "sizes_in"]

LONGEST = 48
"""Tokens in an input at most, unless more are asked for: dependence costs a pass for each."""

_NAMES = ("sliding_window", "window_size", "attention_window", "local_attention", "attention_chunk_size", "chunk_size")


def lengths_of(subject: Subject, declared: Declared, length: int) -> tuple[int, ...]:
    """The usual length first; none is beyond what the target takes."""
    graph = declared_graph(declared)
    sizes = sorted({*(() if graph is None else tuple(sizes_in(graph))), *_configured(subject.config)})
    near = [size for size in sizes if size + 3 <= LONGEST]
    # Two more than the last window, so that more than one row has lost its first key.
    usual = max([length, *(size + 3 for size in near)])
    wanted = [usual, usual + 1 if usual % 2 == 0 else usual + 2, *(2 * size + 3 for size in near)]
    limit = subject.longest or max(LONGEST, length)
    if subject.reads in ("pixels", "features"):
        return (subject.length,)
    return tuple(dict.fromkeys(max(2, min(one, limit)) for one in wanted))


def sizes_in(graph: Graph) -> Iterator[int]:
    """The numbers of keys that a graph's rules speak of."""
    if isinstance(graph, Window):
        yield max(graph.n, graph.ahead)
    elif isinstance(graph, Chunks | Prefix):
        yield graph.n
    elif isinstance(graph, Not):
        yield from sizes_in(graph.operand)
    elif isinstance(graph, And | Or):
        for one in graph.operands:
            yield from sizes_in(one)


def _configured(config: Any) -> Iterator[int]:
    for name in _NAMES:
        found = said(config, name)
        for one in found if isinstance(found, list | tuple) else [found]:
            if type(one) is int and one > 0:
                yield one
