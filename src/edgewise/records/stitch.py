"""Prefill and cached steps of one site made one call, as if the text had been read at once."""

from itertools import pairwise
from math import inf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.errors import ArgumentError
from edgewise.records.arrays import Array, same_bits
from edgewise.records.call import Call
from edgewise.records.kept import Kept
from edgewise.records.record import Record
from edgewise.records.seams import joined_bias, joined_edges
from edgewise.records.site import Site

__all__ = ["stitched"]


def stitched(record: Record, site: str | Site, calls: slice | None = None) -> Call:
    """One call in place of the calls of a site that wrote one text: all queries, and the keys of all.

    The queries follow each other, and each row has the edges that it had. Keys that a cache has dropped since are
    there again, from the call in which they were new.

    Args:
        record: the record.
        site: which site.
        calls: which of its calls; None for all.

    Raises:
        ArgumentError: there is no such site, or the calls are not of one text: their positions do not follow each
            other, or their keys are not those of the calls before.
    """
    parts = record.of(site)[calls or slice(None)]
    if not parts:
        raise ArgumentError(f"wanted a call at least; got calls {calls} of {len(record.of(site))}")
    if len(parts) == 1:
        return parts[0]
    for before, part in pairwise(parts):
        _check(before, part)
    return _joined(parts)


def _joined(parts: tuple[Call, ...]) -> Call:
    """Return the call that follows from calls of one text."""
    first = parts[0]
    origins = _origins(parts)
    key, value = (_keys(parts, name, origins) for name in ("key", "value"))
    shifts = [origin - origins[0] for origin in origins]
    edges = joined_edges(parts, shifts, key.shape[2])
    residuals = [part.residual for part in parts if not isnan(part.residual)]
    return Call(
        first.site,
        first.index,
        first.route,
        _rows(parts, "query"),
        key,
        value,
        _rows(parts, "out"),
        first.scale,
        **edges,
        bias=joined_bias(parts, shifts, key.shape[2]),
        soft_cap=first.soft_cap,
        sinks=first.sinks,
        dropout=first.dropout,
        cached=first.cached,
        dtype=first.dtype,
        residual=max(residuals, default=nan),
        first=first.first,
        # Which keys a query without any edge reads is known of its own call alone.
        hidden=first.hidden if first.hidden == -inf else nan,
        note=first.note if len({part.note for part in parts}) == 1 else "",
        kept=_kept(parts),
    )


def _check(before: Call, part: Call) -> None:
    """Raise where a call is not what follows another in one text."""
    where = f"calls {before.index} and {part.index} of {part.site.name}"
    if part.position != before.position + before.rows:
        raise ArgumentError(
            f"{where} are not of one text: the first ends at position {before.position + before.rows}, the second "
            f"begins at {part.position}; choose the calls of one text by calls=slice(…)"
        )
    for name in ("scale", "soft_cap", "dropout", "dtype", "batch", "heads"):
        one, other = getattr(before, name), getattr(part, name)
        if one != other:
            raise ArgumentError(f"{where} differ in {name}, {one} and {other}, so they are not rows of one call")
    for name in ("query", "key", "value", "out"):
        one, other = getattr(before, name), getattr(part, name)
        if (one.dtype, one.shape[3]) != (other.dtype, other.shape[3]):
            raise ArgumentError(f"{where} differ in {name}, {one!r} and {other!r}, so they are not rows of one call")
    sinks = [None if one.sinks is None else one.sinks.bits.tobytes() for one in (before, part)]
    if sinks[0] != sinks[1]:
        raise ArgumentError(f"{where} differ in their sinks, so they are not rows of one call")


def _origins(parts: tuple[Call, ...]) -> list[int]:
    """Return at which position of the text the first key of each call stands."""
    if parts[0].site.kind == "cross":
        return [0] * len(parts)
    # A cache of fixed size is longer than the text so far: its keys begin with the text.
    origins = [max(0, part.position + part.rows - part.keys) for part in parts]
    for part, origin in zip(parts, origins, strict=True):
        if origin < origins[0]:
            raise ArgumentError(
                f"call {part.index} of {part.site.name} sees keys from position {origin} on, before those of call "
                f"{parts[0].index}, which begin at {origins[0]}: they were in no call"
            )
    return origins


def _keys(parts: tuple[Call, ...], name: str, origins: list[int]) -> Array:
    """Return the keys, or the values, of all positions, each from the call in which it was new."""
    arrays: list[Array] = [getattr(part, name) for part in parts]
    if parts[0].site.kind == "cross":
        for part, array in zip(parts, arrays, strict=True):
            if not (array.source.continues(arrays[0].source) or same_bits(array.bits, arrays[0].bits)):
                raise ArgumentError(f"call {part.index} of {part.site.name} has another {name} than the first")
        return arrays[0]
    if all(after.source.continues(before.source) for before, after in pairwise(arrays)):
        return arrays[-1]
    new = [arrays[0].bits[:, :, : parts[0].position + parts[0].rows - origins[0]]]
    for part, array, origin in zip(parts[1:], arrays[1:], origins[1:], strict=True):
        begin = part.position - origin
        new.append(array.bits[:, :, begin : begin + part.rows])
    whole = np.concatenate(new, axis=2)
    for part, array, origin in zip(parts, arrays, origins, strict=True):
        held, begin = array.bits[:, :, : part.position + part.rows - origin], origin - origins[0]
        if not same_bits(held, whole[:, :, begin : begin + held.shape[2]]):
            raise ArgumentError(
                f"the {name} of call {part.index} of {part.site.name} is not that of the calls before and its own at "
                "the end: the cache puts it in another order or changes it, so that rows cannot be told; look at the "
                "calls one by one"
            )
    return Array.of(whole, arrays[0].dtype)


def _rows(parts: tuple[Call, ...], name: str) -> Array:
    arrays: list[Array] = [getattr(part, name) for part in parts]
    bits: list[NDArray[Any]] = [array.bits for array in arrays]
    return Array.of(np.concatenate(bits, axis=2), arrays[0].dtype)


def _kept(parts: tuple[Call, ...]) -> Kept:
    heads = parts[0].kept.heads
    if all(part.kept.rows is None for part in parts):
        return Kept(heads)
    rows, begin = list[int](), 0
    for part in parts:
        rows += [begin + row for row in (range(part.rows) if part.kept.rows is None else part.kept.rows)]
        begin += part.rows
    return Kept(heads, tuple(rows), begin)
