"""Small matrices laid out side by side, as one writes them on paper."""

from collections.abc import Sequence
from itertools import zip_longest

from torch import Tensor

__all__ = ["beside", "matrix", "row"]


def number(value: float, digits: int) -> str:
    """A number with at most so many digits after the point, and a real minus sign.

    Example:
        >>> number(-0.25, 2), number(7.0, 2), number(float("-inf"), 2), number(0.0001, 2)
        ('−0.25', '7', '−∞', '0')
    """
    if value in (float("inf"), -float("inf")):
        return "−∞" if value < 0 else "∞"
    if value != value:
        return "not a number"
    written = f"{value:.{digits}f}"
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written in ("-0", "") else written.replace("-", "−")


def row(values: Sequence[float] | Tensor, digits: int = 2) -> str:
    """One row of numbers in brackets.

    Example:
        >>> row([2, 7.5])
        '[2, 7.5]'
    """
    return "[" + ", ".join(number(float(value), digits) for value in values) + "]"


def matrix(rows: Sequence[Sequence[float]] | Tensor, digits: int = 2) -> str:
    """Rows of numbers in brackets, the columns aligned.

    Example:
        >>> print(matrix([[1, 0], [0.5, 10]]))
        ⎡   1   0 ⎤
        ⎣ 0.5  10 ⎦
    """
    cells = [[number(float(value), digits) for value in line] for line in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
    if len(lines) == 1:
        return f"[ {lines[0]} ]"
    sides = ["⎡⎤", *["⎢⎥"] * (len(lines) - 2), "⎣⎦"]
    return "\n".join(f"{left} {line} {right}" for line, (left, right) in zip(lines, sides, strict=True))


def beside(*blocks: str, gap: str = "  ") -> str:
    r"""Blocks of lines next to each other; a block of one line stands beside the middle line of the others.

    Example:
        >>> print(beside("a =", "1\n2\n3"))
             1
        a =  2
             3
    """
    height = max(block.count("\n") + 1 for block in blocks)
    columns: list[list[str]] = []
    for block in blocks:
        lines = block.split("\n")
        lines = [""] * ((height - len(lines)) // 2) + lines if len(lines) == 1 else lines
        width = max(map(len, lines))
        columns.append([line.ljust(width) for line, _ in zip_longest(lines, range(height), fillvalue="")])
    return "\n".join(gap.join(line).rstrip() for line in zip(*columns, strict=True))
