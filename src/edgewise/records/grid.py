"""The cells of one head summed up in pixels, some rows at a time and on all cores."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int32

from edgewise.records.band import Band, halved
from edgewise.records.head import Head

__all__ = ["Grid", "grid"]

# Rows computed together; a pixel with more makes them more.
ROWS = 256


@dataclass(frozen=True, eq=False)
class Grid:
    """Pixels of a rectangle, (columns, lines).

    Args:
        rows: the rows, whole pixels; may reach past the last row.
        keys: the keys, likewise.
        step: rows and keys of a pixel.
        largest: the largest number over the edges of each pixel, −∞ where there is none.
        total: the sum over the edges.
        edges: how many there are.
        sums: log Σ exp(score) of each row, for weights; +∞ for a row that sees nothing.
    """

    rows: range
    keys: range
    step: tuple[int, int]
    largest: Float32[np.ndarray, "columns lines"]
    total: Float32[np.ndarray, "columns lines"]
    edges: Int32[np.ndarray, "columns lines"]
    sums: Float64[np.ndarray, " rows"]

    def sums_of(self, rows: range, size: int) -> Float64[np.ndarray, " rows"] | None:
        """Return the sums of some rows of `size` in all; None where they are not known."""
        wanted = range(rows.start, min(rows.stop, size))
        if not (self.rows.start <= wanted.start and wanted.stop <= self.rows.start + self.sums.size):
            return None
        return self.sums[wanted.start - self.rows.start : wanted.stop - self.rows.start]

    def part(self, rows: range, keys: range, step: tuple[int, int]) -> "Grid | None":
        """Return a rectangle in pixels as large or larger; None where these pixels do not have it."""
        times = [wanted // own for wanted, own in zip(step, self.step, strict=True)]
        if not all(times) or not (_within(rows, self.rows) and _within(keys, self.keys)):
            return None
        lines, columns = (
            slice((one.start - own.start) // size, (one.stop - own.start) // size)
            for one, own, size in zip((rows, keys), (self.rows, self.keys), self.step, strict=True)
        )
        cut = [one[columns, lines] for one in (self.largest, self.total, self.edges)]
        largest, total, edges = (
            halved(halved(one, times[0], add).T, times[1], add).T
            for one, add in zip(cut, (np.maximum, np.add, np.add), strict=True)
        )
        return Grid(rows, keys, step, largest, total, edges, self.sums)

    def bounds(self, rows: int, keys: int) -> tuple[slice, slice]:
        """Return the rows and the keys that are there, of so many in all."""
        return slice(self.rows.start, min(self.rows.stop, rows)), slice(self.keys.start, min(self.keys.stop, keys))


def grid(
    head: Head,
    stage: str,
    rows: range,
    keys: range,
    step: tuple[int, int],
    sums: Float64[np.ndarray, " rows"] | None = None,
) -> Grid:
    """Return a rectangle of one head in pixels.

    Args:
        head: the head.
        stage: "weights", "scaled" or "raw".
        rows: the rows, whole pixels; may reach past the last row.
        keys: the keys, likewise.
        step: rows and keys of a pixel.
        sums: log Σ exp(score) of the rows, where it is known; else all keys of these rows are computed for it.
    """
    shape = (len(keys) // step[1], len(rows) // step[0])
    there = range(rows.start, min(rows.stop, head.call.rows))
    found = Grid(
        rows,
        keys,
        step,
        np.full(shape, -np.inf, np.float32),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.int32),
        np.zeros(len(there)) if sums is None else sums,
    )
    size = max(ROWS, step[0])
    bands = [range(first, min(first + size, there.stop)) for first in range(there.start, there.stop, size)]

    def fill(rows: range) -> None:
        # Data may hold infinities and NaN; the setting is each thread's own.
        with np.errstate(all="ignore"):
            Band(head, stage, rows, found, known=sums is not None).fill()

    with ThreadPoolExecutor(max(1, min(len(bands), os.cpu_count() or 1))) as pool:
        for _ in pool.map(fill, bands):
            pass
    return found


def _within(one: range, other: range) -> bool:
    return other.start <= one.start and one.stop <= other.stop
