"""How a graph's list is written in its text: short lists in full, long ones by their repeats, endless ones cut."""

from collections.abc import Sequence

import numpy as np

__all__ = ["shorthand"]

# Numbers written one by one, and pieces (numbers or repeats) written before the text is cut.
PLAIN, PIECES = 16, 64


def shorthand(values: np.ndarray, *, repeats: bool = True) -> str:
    """Return a list as Python reads it, `[0] * 100 + [1] * 28`, cut with `…` where that is longer than 64 pieces.

    Only a text without `…` can be read back.
    """
    if values.ndim == 2:
        return _list([shorthand(row, repeats=repeats) for row in values[: PIECES + 1]], len(values))
    if values.size <= PLAIN or not repeats:
        return _list([str(value) for value in _ends(values)], values.size)
    start = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    length = np.diff(np.append(start, values.size))
    if start.size * 2 > values.size:
        return _list([str(value) for value in _ends(values)], values.size)
    pieces = [f"[{value}] * {many}" for value, many in zip(values[start[:PIECES]], length[:PIECES], strict=True)]
    return " + ".join(pieces if start.size <= PIECES else [*pieces[: PIECES - 1], "…"])


def _ends(values: np.ndarray) -> np.ndarray:
    """Return all values, or the first and last ones of a list that is too long to write."""
    return values if values.size <= PIECES else np.append(values[: PIECES - 1], values[-1:])


def _list(pieces: Sequence[str], size: int) -> str:
    if size > PIECES:
        pieces = [*pieces[: PIECES - 1], "…", *pieces[PIECES - 1 : PIECES]]
    return f"[{', '.join(pieces)}]"
