"""What people give as document ids or as a padding mask, made one form or refused in words.

Lists, numpy arrays and torch tensors are taken; torch itself is not imported.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int32, Integer

from edgewise.errors import ArgumentError, ShapeError

__all__ = ["document_ids", "kept_keys"]


def document_ids(ids: Any, cumulative: Any) -> Int32[np.ndarray, "*batch key"]:
    """Return ids numbered by first use, from ids or from where documents begin and end."""
    if (ids is None) == (cumulative is None):
        raise ArgumentError(
            "documents wants ids, a number for each key, or cumulative=[0, …, length], one of the two; "
            f"got {'neither' if ids is None else 'both'}"
        )
    if cumulative is not None:
        return _from_cumulative(_array(cumulative, "cumulative of documents"))
    found = _shaped(_array(ids, "ids of documents"), "ids of documents")
    if found.dtype.kind not in "iu":
        hint = ": a padding mask goes to keys(keep)" if found.dtype.kind == "b" else ""
        raise ArgumentError(f"ids of documents must be whole numbers, one for each key; got {found.dtype}{hint}")
    return _numbered(found)


def kept_keys(keep: Any) -> Bool[np.ndarray, "*batch key"]:
    """Return which keys may be read, from booleans or from 1 and 0."""
    found = _shaped(_array(keep, "keep of keys"), "keep of keys")
    wanted = "keep of keys must hold True and False, or 1 and 0"
    if found.dtype.kind == "f":
        raise ArgumentError(
            f"{wanted}; got {found.dtype}: an additive mask keeps what it adds 0 to, so give keys(mask == 0)"
        )
    wrong = found[(found != 0) & (found != 1)]
    if wrong.size:
        raise ArgumentError(f"{wanted}; got {wrong[0]}: document ids go to documents(ids)")
    return found.astype(bool)


def _array(values: Any, name: str) -> np.ndarray:
    try:
        # A torch tensor may have to leave its graph and its device first; anything else numpy takes as it is.
        for step in ("detach", "cpu", "numpy"):
            values = getattr(values, step)() if hasattr(values, step) else values
        found = np.array(values)
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"{name} must be a list of numbers, or a list of such lists of one length; got {_short(values)}"
        ) from error
    if found.size and found.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must be a list, an array or a tensor of numbers; got {_short(values)}")
    return found


def _shaped(found: np.ndarray, name: str) -> np.ndarray:
    if found.ndim not in (1, 2) or not found.size:
        hint = ": drop the axes of size 1" if found.ndim > 2 else ""
        raise ShapeError(f"{name} must be (key,) or (batch, key), with at least one key; got shape {found.shape}{hint}")
    return found


def _from_cumulative(found: np.ndarray) -> Int32[np.ndarray, " key"]:
    if found.ndim != 1:
        raise ShapeError(f"cumulative of documents must be 1-D; got shape {found.shape}: for a batch give ids")
    whole = found.dtype.kind in "iu"
    if not whole or found.size < 2 or found[0] != 0 or bool((np.diff(found.astype(np.int64)) < 1).any()):
        raise ArgumentError(
            "cumulative of documents must be whole numbers that rise from 0 to the length, as [0, 3, 7]; "
            f"got {_short(found.tolist())}"
        )
    return np.repeat(np.arange(found.size - 1, dtype=np.int32), np.diff(found.astype(np.int64)))


def _numbered(ids: Integer[np.ndarray, "*batch key"]) -> Int32[np.ndarray, "*batch key"]:
    if ids.ndim == 2:
        return np.stack([_numbered(sequence) for sequence in ids])
    new = ids[1:] != ids[:-1]
    if bool((ids[1:] >= ids[:-1]).all()):
        return np.append(0, np.cumsum(new)).astype(np.int32)
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int32)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[place.reshape(-1)]


def _short(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else text[:57] + "…"
