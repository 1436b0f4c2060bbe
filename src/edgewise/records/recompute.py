"""Stages of a call computed again from query and key: a row, a rectangle, or the whole of one head."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from edgewise.axes import STAGES, canonical
from edgewise.errors import ArgumentError
from edgewise.records.call import Call
from edgewise.records.head import Head, head_of

__all__ = ["Precision", "row", "span", "tile"]

Precision = Literal["float32", "float64"]

# Scores held at once while a softmax needs whole rows: 64 MiB of float32.
CELLS = 1 << 24


def row(
    call: Call, batch: int, head: int, query: int, stage: str = "weights", *, precision: Precision | None = None
) -> Float[np.ndarray, " key"]:
    """One row of a stage: what one query does with every key; for "out", what it takes home.

    Args:
        call: the call.
        batch: which sequence; negative counts from the end.
        head: which query head, by its number in the model; negative counts from the end.
        query: which row; negative counts from the end.
        stage: "raw", "scaled", "masked", "weights" or "out", or a name that others use for one of them.
        precision: "float32" or "float64" for all arithmetic; None for float32, or float64 where the queries are.

    Raises:
        ArgumentError: there is no such stage, sequence, head or row, or it was not kept.
    """
    query = call.number(query, call.rows, "query")
    return tile(call, batch, head, slice(query, query + 1), stage=stage, precision=precision)[0]


def tile(
    call: Call,
    batch: int,
    head: int,
    rows: slice | None = None,
    keys: slice | None = None,
    stage: str = "weights",
    *,
    precision: Precision | None = None,
) -> NDArray[np.floating[Any]]:
    """A rectangle of a stage, (rows, keys); for "out", (rows, width).

    Args:
        call: the call.
        batch: which sequence; negative counts from the end.
        head: which query head, by its number in the model; negative counts from the end.
        rows: neighbouring rows; None for all.
        keys: neighbouring keys; None for all. Has no meaning for "out".
        stage: "raw", "scaled", "masked", "weights" or "out", or a name that others use for one of them.
        precision: "float32" or "float64" for all arithmetic; None for float32, or float64 where the queries are.

    Raises:
        ArgumentError: there is no such stage, sequence, head or row, or it was not kept.
    """
    name = canonical(stage)
    if name not in STAGES:
        raise ArgumentError(f"stage must be one of {', '.join(STAGES)}; got {stage!r}")
    if precision not in (None, "float32", "float64"):
        raise ArgumentError(f'precision must be "float32" or "float64"; got {precision!r}')
    one = head_of(call, batch, head, precision)
    lines, columns = span(rows, call.rows, "rows"), span(keys, call.keys, "keys")
    # Data may hold infinities and NaN, and they go where attention takes them.
    with np.errstate(all="ignore"):
        return _stage(one, name, lines, slice(columns.start, columns.stop))


def span(given: slice | None, size: int, name: str) -> range:
    """Return neighbouring rows or keys as a range.

    Raises:
        ArgumentError: they are not neighbours.
    """
    start, stop, step = (given or slice(None)).indices(size)
    if step != 1:
        raise ArgumentError(f"{name} must be neighbours, a slice of step 1; got step {step}")
    return range(start, max(start, stop))


def _stage(one: Head, name: str, rows: range, keys: slice) -> NDArray[np.floating[Any]]:
    match name:
        case "raw":
            return one.raw(rows, keys)
        case "scaled":
            return one.scaled(rows, keys)
        case "masked":
            return one.masked(rows, keys)
        case _:
            pass
    width = one.call.value.shape[-1] if name == "out" else len(range(*keys.indices(one.call.keys)))
    found = np.empty((len(rows), width), one.wide)
    step = max(1, CELLS // max(1, one.call.keys))
    for first in range(rows.start, rows.stop, step):
        part = range(first, min(rows.stop, first + step))
        lines = slice(part.start - rows.start, part.stop - rows.start)
        found[lines] = one.out(part) if name == "out" else one.weights(part)[:, keys]
    return found
