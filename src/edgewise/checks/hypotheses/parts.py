"""What goes wrong within a mask: one rule of it left out or a little off, two rules joined the wrong way."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from edgewise.checks.hypotheses.hypothesis import Hypothesis, Places
from edgewise.checks.hypotheses.listed import documents_wrong, keys_wrong
from edgewise.checks.hypotheses.numbered import chunks_wrong, prefix_wrong, window_wrong
from edgewise.checks.hypotheses.whole import seen
from edgewise.graphs import Graph
from edgewise.graphs.algebra import And, Not, Or
from edgewise.graphs.listed import Documents, Keys
from edgewise.graphs.rules import Causal, Chunks, Prefix, Window

__all__ = ["parts"]

# What a mask lacks where one of its rules is left out, by the rule.
_LEFT_OUT: dict[type[Graph], tuple[str, str]] = {
    Causal: ("A1", "the causal mask is dropped where another mask is given"),
    Window: ("C2", "the window is not applied"),
    Prefix: ("C4", "the prefix is not applied"),
    Chunks: ("C4", "the chunks are not applied"),
    Documents: ("F1", "no block-diagonal mask: documents in one row read each other"),
    Keys: ("D1", "the padding mask is not applied"),
}


def parts(graph: Graph) -> Iterator[Hypothesis]:
    """Yield what would be visible if one part of `graph` were wrong and the rest as it is."""
    match graph:
        case And():
            yield from _joined(graph.operands, np.logical_and.reduce, np.logical_or.reduce, ("or", "and"))
        case Or():
            yield from _joined(graph.operands, np.logical_or.reduce, np.logical_and.reduce, ("and", "or"))
        case Not():
            inner = graph.operand
            yield Hypothesis("G1", f"{inner!r} is kept where it should be hidden", _sees(inner))
            for one in parts(inner):
                yield Hypothesis(one.kind, one.likely, lambda at, one=one: ~np.asarray(one.sees(at)))
        case Window():
            yield from window_wrong(graph)
        case Prefix():
            yield from prefix_wrong(graph)
        case Chunks():
            yield from chunks_wrong(graph)
        case Documents():
            yield from documents_wrong(graph)
        case Keys():
            yield from keys_wrong(graph)
        case _:
            return


Reduce = Callable[[Sequence[Any]], Any]


def _joined(operands: Sequence[Graph], join: Reduce, wrong: Reduce, words: tuple[str, str]) -> Iterator[Hypothesis]:
    def joined(how: Reduce, sees: Sequence[Callable[[Places], Any]]) -> Callable[[Places], Any]:
        return lambda at: how(np.broadcast_arrays(*[np.asarray(one(at), dtype=bool) for one in sees]))

    plain = [_sees(one) for one in operands]
    for place, operand in enumerate(operands):
        rest = plain[:place] + plain[place + 1 :]
        name = type(operand)
        if name in _LEFT_OUT and words[0] == "or":
            yield Hypothesis(*_LEFT_OUT[name], joined(join, rest))
        else:
            yield Hypothesis("C4", f"{operand!r} is left out", joined(join, rest))
    yield Hypothesis("C3", f"masks are joined by {words[0]} instead of {words[1]}", joined(wrong, plain))
    for place, operand in enumerate(operands):
        rest = plain[:place] + plain[place + 1 :]
        yield Hypothesis(
            "G1",
            f"True means hide in one of the masks that are joined, and keep in the others: {operand!r} is complemented",
            joined(join, [lambda at, operand=operand: ~seen(operand, at.query, at.key), *rest]),
        )
        for one in parts(operand):
            yield Hypothesis(one.kind, one.likely, joined(join, [one.sees, *rest]))
    if words[0] == "or" and len(operands) > 2:
        for place in range(len(operands)):
            rest = plain[:place] + plain[place + 1 :]
            others = joined(join, rest)
            yield Hypothesis(
                "C3", "masks are joined by or instead of and", joined(np.logical_or.reduce, [others, plain[place]])
            )


def _sees(graph: Graph) -> Callable[[Places], Any]:
    return lambda at: seen(graph, at.query, at.key)
