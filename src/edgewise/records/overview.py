"""A picture of one head at any size: each pixel the largest and the mean of the cells beneath it.

Pixels are squares or rectangles of 2ⁱ × 2ʲ cells that begin at multiples of their size, so that a picture does not
flicker when it is moved, and a coarse one is made of finer ones. The first picture of a head computes every row once
and keeps each row's sum and a finer grid than was asked for; zooming in reads that grid, or computes only what is seen.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32, Int

from edgewise.axes import canonical
from edgewise.errors import ArgumentError
from edgewise.records.call import Call
from edgewise.records.grid import Grid, grid
from edgewise.records.head import Head, head_of
from edgewise.records.recompute import span

__all__ = ["Overview", "overview"]

# How much finer than asked for the grid is that the first picture keeps, along each side.
FINER = 4
STAGES = ("raw", "scaled", "weights")


@dataclass(frozen=True, eq=False)
class Overview:
    """A rectangle of one head, a pixel for so many cells.

    Args:
        rows: the rows in the picture: those asked for, grown to whole pixels.
        keys: the keys in the picture, grown likewise.
        step: rows and keys of a pixel.
        max: the largest number in each pixel, over its edges; 0 for weights and −∞ for scores where there is none.
        mean: the mean over its edges; 0 for weights and NaN for scores where there is none.
        edges: how many cells of the pixel are edges.
    """

    rows: slice
    keys: slice
    step: tuple[int, int]
    max: Float32[np.ndarray, "lines columns"]
    mean: Float32[np.ndarray, "lines columns"]
    edges: Int[np.ndarray, "lines columns"]
    _source: "_Picture"

    def zoom(
        self, rows: slice | None = None, keys: slice | None = None, shape: tuple[int, int] = (512, 512)
    ) -> "Overview":
        """Return another rectangle of the same head, using what is known of it already.

        Args:
            rows: neighbouring rows; None for all.
            keys: neighbouring keys; None for all.
            shape: the most pixels down and across.

        Raises:
            ArgumentError: the rectangle is empty, or some row was not kept.
        """
        return self._source.look(rows, keys, shape)


@dataclass(frozen=True, eq=False)
class _Picture:
    """What is known of a head: its finest grid so far, which also holds the sums of its rows."""

    head: Head
    stage: str
    fine: Grid | None = None

    def look(self, rows: slice | None, keys: slice | None, shape: tuple[int, int]) -> Overview:
        call = self.head.call
        asked = [span(rows, call.rows, "rows"), span(keys, call.keys, "keys")]
        if not (asked[0] and asked[1]) or min(shape) < 1:
            raise ArgumentError(
                f"a picture wants a row, a key and a pixel at least; got rows {rows}, keys {keys} and shape {shape}"
            )
        step = (_power(asked[0], shape[0]), _power(asked[1], shape[1]))
        lines, columns = (_grown(one, size) for one, size in zip(asked, step, strict=True))
        known = self
        found = None if self.fine is None else self.fine.part(lines, columns, step)
        if found is None:
            sums = None if self.fine is None else self.fine.sums_of(lines, call.rows)
            finer = (max(1, step[0] // FINER), max(1, step[1] // FINER)) if sums is None else step
            computed = grid(self.head, self.stage, lines, columns, finer, sums)
            known = replace(self, fine=computed) if sums is None else self
            found = computed.part(lines, columns, step)
            assert found is not None
        bounds = found.bounds(call.rows, call.keys)
        largest, mean = _image(found, self.stage)
        return Overview(*bounds, step, largest, mean, np.ascontiguousarray(found.edges.T), known)


def overview(
    call: Call,
    head: int,
    rows: slice | None = None,
    keys: slice | None = None,
    shape: tuple[int, int] = (512, 512),
    *,
    batch: int = 0,
    stage: str = "weights",
) -> Overview:
    """A picture of one head, or of a rectangle of it, in float32 and without ever holding the matrix.

    Keys that no row of a stretch can see are not computed. A query without any key is empty in the picture, whatever
    the model has there (`Call.hidden`).

    Args:
        call: the call.
        head: which query head, by its number in the model.
        rows: neighbouring rows; None for all.
        keys: neighbouring keys; None for all.
        shape: the most pixels down and across; a pixel has the fewest cells, a power of 2 along each side, for which
            the rectangle fits.
        batch: which sequence.
        stage: "weights", "scaled" or "raw".

    Raises:
        ArgumentError: there is no such stage, sequence or head, the rectangle is empty, or a row was not kept.

    Example:
        >>> overview(call, head=3).zoom(slice(0, 64), slice(0, 64)).max  # doctest: +SKIP
    """
    name = canonical(stage)
    if name not in STAGES:
        raise ArgumentError(f"a picture is of {', '.join(STAGES)}; got {stage!r}")
    return _Picture(head_of(call, batch, head, "float32"), name).look(rows, keys, shape)


def _power(cells: range, pixels: int) -> int:
    """Return the smallest power of 2 at which the cells, grown to whole pixels, have so many pixels at most."""
    step = 1
    while len(_grown(cells, step)) > pixels * step:
        step *= 2
    return step


def _grown(cells: range, step: int) -> range:
    return range(cells.start // step * step, -(-cells.stop // step) * step)


def _image(found: Grid, stage: str) -> list[Float32[np.ndarray, "lines columns"]]:
    """Return largest and mean of each pixel, line by line."""
    nothing = found.edges == 0
    largest, mean = (0, 0) if stage == "weights" else (-np.inf, np.nan)
    with np.errstate(all="ignore"):
        average = (found.total / found.edges).astype(np.float32)
    return [
        np.ascontiguousarray(np.where(nothing, np.float32(fill), one).T)
        for fill, one in ((largest, found.largest), (mean, average))
    ]
