"""The lines of code of a source: no comments, no docstrings, no blank lines, each with the place that it stands in."""

import ast
import io
import tokenize
from dataclasses import dataclass
from typing import Literal

__all__ = ["Code", "code"]

Part = Literal["forward", "constructor", "elsewhere"]


@dataclass(frozen=True)
class Code:
    """One line of code."""

    text: str
    where: str
    """qualified name of the innermost class or method around it; empty for the module"""
    part: Part
    """forward: any method but a constructor; elsewhere: imports and class headers"""


def code(source: str) -> list[Code]:
    """Return the lines of code in `source`.

    Example:
        >>> code('import math  # for pi')
        [Code(text='import math', where='', part='elsewhere')]
    """
    lines = _without_comments(source)
    places: dict[int, tuple[str, Part]] = {}
    _mark(ast.parse(source), "", lines, places)
    return [Code(line, *places.get(number, ("", "elsewhere"))) for number, line in enumerate(lines, 1) if line]


def _without_comments(source: str) -> list[str]:
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return [line.rstrip() for line in lines]


def _mark(node: ast.AST, where: str, lines: list[str], places: dict[int, tuple[str, Part]]) -> None:
    """Write down where each line stands, the innermost place last, and blank out docstrings."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        first = node.body[0]
        if ast.get_docstring(node) is not None:
            lines[first.lineno - 1 : first.end_lineno] = [""] * ((first.end_lineno or first.lineno) - first.lineno + 1)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            inside = f"{where}.{child.name}".removeprefix(".")
            part: Part = "elsewhere"
            if isinstance(child, ast.FunctionDef):
                part = "constructor" if child.name == "__init__" else "forward"
            start = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            places |= dict.fromkeys(range(start, (child.end_lineno or start) + 1), (inside, part))
            _mark(child, inside, lines, places)
