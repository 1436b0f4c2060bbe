"""A graph from text, as its `repr` writes it and as a person types it: `window(128) & chunks(64)`."""

import ast
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from edgewise.errors import ArgumentError
from edgewise.graphs.graph import Graph
from edgewise.graphs.listed import documents, keys
from edgewise.graphs.rules import causal, chunks, full, prefix, window

__all__ = ["RULES", "parse"]

RULES: dict[str, Callable[..., Graph]] = {
    "causal": causal,
    "chunks": chunks,
    "documents": documents,
    "full": full,
    "keys": keys,
    "prefix": prefix,
    "window": window,
}

# What other code calls the same thing, for the hint in a message.
_ELSEWHERE = {
    "tril": "causal()",
    "none": "full()",
    "bidirectional": "full()",
    "sliding": "window(n)",
    "sliding_window": "window(n)",
    "local": "window(n)",
    "block": "chunks(n)",
    "chunked": "chunks(n)",
    "prefix_lm": "prefix(n)",
    "packed": "documents(cumulative=[0, …])",
    "padding": "keys([…])",
}
# Numbers that a list in a text may hold: `[0] * 10**12` must not fill the memory.
_LONGEST = 1 << 27


def parse(text: str) -> Graph:
    """Return the graph that a text describes.

    The text is a rule with its numbers, or rules joined by `&`, `|`, `~` and brackets as in Python. A rule that has no
    numbers needs no brackets. Lists may be written by repeats: `keys([0] * 3 + [1] * 5)`.

    Raises:
        ArgumentError: the text is something else, or a rule refuses its numbers.

    Example:
        >>> from edgewise.graphs import causal, window
        >>> parse("causal & ~window(2)") == causal() & ~window(2)
        True
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = getattr(error, "offset", None) or 1
        raise _refused(text.strip(), column - 1, "this does not read as one") from error
    return _Reader(text.strip()).graph(tree.body)


class _Reader:
    """Reads a parsed text, and knows the text for its messages."""

    def __init__(self, text: str) -> None:
        self.text = text

    def graph(self, node: ast.expr) -> Graph:
        match node:
            case ast.BinOp(left, ast.BitAnd(), right):
                return self.graph(left) & self.graph(right)
            case ast.BinOp(left, ast.BitOr(), right):
                return self.graph(left) | self.graph(right)
            case ast.UnaryOp(ast.Invert(), operand):
                return ~self.graph(operand)
            case ast.Name(name):
                return self.rule(node, name)([], {})
            case ast.Call(ast.Name(name), given, named):
                rule = self.rule(node, name)
                options = {one.arg: self.value(one.value) for one in named if one.arg is not None}
                if len(options) < len(named):
                    raise self.refused(node, "`**` has no meaning here")
                return rule([self.value(one) for one in given], options)
            case ast.BoolOp() | ast.UnaryOp(ast.Not(), _):
                raise self.refused(node, "graphs combine by & | ~, not by and, or, not")
            case _:
                raise self.refused(node, "this is no graph")

    def rule(self, node: ast.expr, name: str) -> Callable[[list[Any], dict[str, Any]], Graph]:
        if name not in RULES:
            near = [f"{one}(…)" for one in get_close_matches(name, RULES, 1)]
            hint = [_ELSEWHERE[name]] if name in _ELSEWHERE else near
            raise self.refused(node, f"{name!r} is none of them" + "".join(f"; {one}?" for one in hint))

        def build(given: list[Any], named: dict[str, Any]) -> Graph:
            try:
                return RULES[name](*given, **named)
            except TypeError as error:
                raise self.refused(node, f"{name} is not called like this ({error})") from error

        return build

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value) if isinstance(value, int):
                return value
            case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, int):
                return -value
            case ast.List(elements):
                return [self.value(one) for one in elements]
            case ast.BinOp(left, ast.Add(), right):
                one, other = self.value(left), self.value(right)
                if isinstance(one, list) and isinstance(other, list):
                    return one + other
            case ast.BinOp(left, ast.Mult(), right):
                one, times = self.value(left), self.value(right)
                if isinstance(one, list) and isinstance(times, int) and len(one) * times <= _LONGEST:
                    return one * times
            case ast.Constant(value) if value is ...:
                raise self.refused(node, "a list that was cut with … cannot be read back")
            case _:
                pass
        raise self.refused(node, "wanted a whole number or a list of them here")

    def refused(self, node: ast.expr, why: str) -> ArgumentError:
        return _refused(self.text, len(self.text.encode()[: node.col_offset].decode()), why)


def _refused(text: str, column: int, why: str) -> ArgumentError:
    at = f" at {text[column : column + 20]!r}" if text[column:] else " at its end"
    if "…" in text:
        at, why = "", "a list that was cut with … cannot be read back"
    shown = text if len(text) <= 80 else text[:79] + "…"
    return ArgumentError(
        f"wanted a graph, such as window(128) & chunks(64), made of {', '.join(RULES)}; got {shown!r}{at}: {why}"
    )
