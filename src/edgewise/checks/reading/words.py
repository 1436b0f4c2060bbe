"""Edges in words: which rows differ, what they see and what they were meant to see."""

import numpy as np
from jaxtyping import Bool

from edgewise.graphs import recognise

__all__ = ["first_cell", "keys_of", "rows_of", "told"]


def keys_of(row: Bool[np.ndarray, " key"]) -> str:
    """Return the keys of one row.

    Example:
        >>> keys_of(np.array([True, True, False, True]))
        'keys 0…1, 3'
    """
    seen = np.flatnonzero(row)
    if not seen.size:
        return "no key"
    runs = np.split(seen, np.flatnonzero(np.diff(seen) > 1) + 1)
    texts = [f"{run[0]}…{run[-1]}" if run.size > 1 else f"{run[0]}" for run in runs]
    return f"key{'s' * (seen.size > 1)} {', '.join(texts)}"


def rows_of(cells: Bool[np.ndarray, "query key"], rows: list[int]) -> str:
    """Return what some rows see."""
    return "; ".join(f"row {row} sees {keys_of(cells[row])}" for row in rows)


def first_cell(differs: Bool[np.ndarray, "query key"]) -> tuple[int, int]:
    """Return the first cell that differs."""
    query, key = np.argwhere(differs)[0]
    return int(query), int(key)


def told(
    measured: Bool[np.ndarray, "query key"],
    wanted: Bool[np.ndarray, "query key"],
    judged: Bool[np.ndarray, "query key"],
) -> tuple[str, str]:
    """Return measured and wanted edges in the same words: their names, and the first and last rows that differ.

    Args:
        measured: what is read.
        wanted: what was meant.
        judged: the cells that count.
    """
    differs = ((measured != wanted) & judged).any(1)
    rows = np.flatnonzero(differs)
    shown = [int(one) for one in dict.fromkeys([rows[0], rows[-1]])] if rows.size else []
    return tuple(_named(cells, shown, bool(judged.all())) for cells in (measured, wanted))  # pyright: ignore[reportReturnType]


def _named(cells: Bool[np.ndarray, "query key"], rows: list[int], whole: bool) -> str:
    graph = recognise(cells) if whole else None
    name = "" if graph is None or len(repr(graph)) > 60 else f"{graph!r}: "
    return name + rows_of(cells, rows)
