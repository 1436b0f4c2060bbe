"""The small numbers that the derivation works with by hand, and arithmetic with lists and `math` alone, no tensors.

Three letters h, o, u as two numbers each; and a head of width 2 over the same letters as one-hot rows, whose weights
are small enough that every score can be checked without a machine.
"""

import math

__all__ = [
    "BAG",
    "KEY",
    "LETTERS",
    "ONE_HOT",
    "PLACES",
    "QUERY",
    "VALUE",
    "VECTORS",
    "Matrix",
    "attention_by_hand",
    "product",
    "softmax",
]

Matrix = list[list[float]]

LETTERS = "hou"
VECTORS: Matrix = [[2.0, 7.0], [6.0, 4.0], [6.0, 5.0]]

ONE_HOT: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
# As the document that the numbers come from writes them: one row a channel of the head, one column a letter.
QUERY: Matrix = [[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]
KEY: Matrix = [[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
VALUE: Matrix = [[10.0, 0.0, 5.0], [0.0, 10.0, 5.0]]

# Letters of dogs and gods, and what is added for places 0 … 3.
BAG: dict[str, list[float]] = {"d": [1.0, 0.0], "o": [0.0, 1.0], "g": [2.0, 1.0], "s": [1.0, 2.0]}
PLACES: Matrix = [[0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.4, 0.0]]


def product(left: Matrix, right: Matrix) -> Matrix:
    """Return the matrix product: each row of it is a weighted sum of the rows of `right`.

    Example:
        >>> product([[1, 1, 0]], [[2, 7], [6, 4], [6, 5]])
        [[8, 11]]
    """
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]


def softmax(row: list[float]) -> list[float]:
    """Return exp(score) / sum of exp(score) for each score of a row; −∞ gives exactly 0.

    Example:
        >>> softmax([0.0, 0.0, -math.inf])
        [0.5, 0.5, 0.0]
    """
    grown = [math.exp(score) for score in row]
    return [one / sum(grown) for one in grown]


def attention_by_hand(
    x: Matrix, *, query: Matrix = QUERY, key: Matrix = KEY, value: Matrix = VALUE
) -> dict[str, Matrix]:
    """Return every stage of one causal, unscaled head, under the names that the stages have everywhere."""
    stages = {name: product(x, _turned(weight)) for name, weight in (("query", query), ("key", key), ("value", value))}
    stages["raw"] = product(stages["query"], _turned(stages["key"]))
    stages["masked"] = [
        [score if reader >= read else -math.inf for read, score in enumerate(row)]
        for reader, row in enumerate(stages["raw"])
    ]
    stages["weights"] = [softmax(row) for row in stages["masked"]]
    stages["out"] = product(stages["weights"], stages["value"])
    return stages


def _turned(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]
