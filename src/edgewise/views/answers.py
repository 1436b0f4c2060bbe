"""Answers as JSON and as numbers."""

import json
from dataclasses import fields
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from edgewise.records import Cell, Overview

__all__ = ["arithmetic", "numbers", "picture", "said"]


def said(value: Any, status: int = 200) -> Response:
    """JSON, in which "∞", "-∞" and "nan" stand for the numbers that JSON has not."""
    body = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not -inf < value < inf:
        return "nan" if value != value else "∞" if value > 0 else "-∞"
    return value


def arithmetic(cell: Cell) -> Response:
    """The arithmetic of a cell, by the names of its fields."""
    return said({one.name: getattr(cell, one.name) for one in fields(cell)})


def numbers(array: NDArray[Any]) -> Response:
    """Numbers in single precision, little-endian."""
    return Response(np.ascontiguousarray(array, "<f4").tobytes(), media_type="application/octet-stream")


def picture(found: Overview) -> Response:
    """A picture: a line of JSON, then from the next multiple of 4 max, mean and edges, four bytes a pixel each."""
    head = {
        "rows": {"start": found.rows.start, "stop": found.rows.stop},
        "keys": {"start": found.keys.start, "stop": found.keys.stop},
        "step": list(found.step),
        "shape": list(found.max.shape),
    }
    line = json.dumps(head).encode()
    line += b" " * (-(len(line) + 1) % 4) + b"\n"
    parts = (np.ascontiguousarray(one, "<f4").tobytes() for one in (found.max, found.mean))
    edges = np.ascontiguousarray(found.edges.clip(max=2**31 - 1), "<i4").tobytes()
    return Response(b"".join((line, *parts, edges)), media_type="application/octet-stream")
