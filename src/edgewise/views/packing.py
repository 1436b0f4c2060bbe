"""Queries, keys and values packed small, so that a page that has them computes every stage by itself.

Numbers become half precision (single where half cannot hold them), edges become runs of keys. What is packed is one
string of bytes, and an index of what lies where in it; web/src/source/packed.ts reads both.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.records import Array, Call

__all__ = ["Packing"]

ALIGNED = 8
MOST_RUNS = 16
"""Runs of keys a row, above which single cells are packed instead."""


class Packing:
    """What is packed so far: `index` says what lies where in `bytes()`."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._parts: list[bytes] = []
        self._length = 0
        self.index: list[dict[str, Any]] = []
        for call in calls:
            self.add(call)

    def add(self, call: Call) -> None:
        """Pack one call."""
        self.index.append(
            {
                "site": call.site.name,
                "call": call.index,
                "query": self._numbers(call.query),
                "key": self._numbers(call.key),
                "value": self._numbers(call.value),
                "edges": self._edges(call),
                "bias": None if call.bias is None else self._numbers(call.bias),
                "sinks": None if call.sinks is None else [float(one) for one in call.sinks.float32()],
                # JSON has no infinity: null stands for −∞, "nan" for NaN.
                "hidden": None if call.hidden == -np.inf else call.hidden if call.hidden == call.hidden else "nan",
                "keptRows": None if call.kept.rows is None else list(call.kept.rows),
            }
        )

    def bytes(self) -> bytes:
        """Everything, little-endian, each part at a multiple of 8."""
        return b"".join(self._parts)

    def _numbers(self, array: Array) -> dict[str, Any]:
        wide = array.float32()
        with np.errstate(over="ignore"):
            half = wide.astype("<f2")
        held = half if bool((np.isfinite(half) == np.isfinite(wide)).all()) else wide.astype("<f4")
        return self._put(held, "float16" if held.dtype.itemsize == 2 else "float32")

    def _edges(self, call: Call) -> dict[str, Any] | None:
        """The edges as runs of keys, (batch, heads, runs, rows); None where every key may be read."""
        if call.allowed is not None:
            return self._listed(call.allowed.bits.astype(bool), call)
        if call.graph is None:
            return None
        ranges = call.graph.ranges(call.rows, call.keys)
        start, stop = (one if one.ndim == 3 else one[None] for one in (ranges.start, ranges.stop))
        if call.kept.rows is not None:
            start, stop = start[..., list(call.kept.rows)], stop[..., list(call.kept.rows)]
        return self._runs(start[:, None], stop[:, None])

    def _listed(self, allowed: NDArray[np.bool_], call: Call) -> dict[str, Any]:
        batch, heads, _, _ = allowed.shape
        cells = np.broadcast_to(allowed, (batch, heads, call.query.shape[2], call.keys))
        padded = np.pad(cells, ((0, 0), (0, 0), (0, 0), (1, 1))).astype(np.int8)
        change = np.diff(padded, axis=-1)
        most = int((change == 1).sum(-1).max(initial=0))
        if most > MOST_RUNS:
            return {"kind": "cells"} | self._put(np.ascontiguousarray(cells).astype(np.uint8), "uint8")
        start, stop = (np.zeros((batch, heads, max(1, most), cells.shape[2]), np.int32) for _ in range(2))
        for found, sign in ((start, 1), (stop, -1)):
            places = np.argwhere(change == sign)
            number = _number_within_row(places)
            found[places[:, 0], places[:, 1], number, places[:, 2]] = places[:, 3]
        return self._runs(start, stop)

    def _runs(self, start: NDArray[Any], stop: NDArray[Any]) -> dict[str, Any]:
        return {
            "kind": "runs",
            "shape": list(start.shape),
            "start": self._put(start.astype("<i4"), "int32"),
            "stop": self._put(stop.astype("<i4"), "int32"),
        }

    def _put(self, array: NDArray[Any], dtype: str) -> dict[str, Any]:
        held = np.ascontiguousarray(array).tobytes()
        place = {"dtype": dtype, "at": self._length, "shape": list(array.shape)}
        room = -len(held) % ALIGNED
        self._parts += [held, bytes(room)]
        self._length += len(held) + room
        return place


def _number_within_row(places: NDArray[Any]) -> NDArray[Any]:
    """For cells in order, which of its row each is, from 0."""
    if not len(places):
        return np.zeros(0, int)
    new = np.any(places[1:, :3] != places[:-1, :3], axis=1)
    begins = np.concatenate([[0], np.flatnonzero(new) + 1])
    return np.arange(len(places)) - np.repeat(begins, np.diff(np.append(begins, len(places))))
