"""A call checked at the door: whatever does not fit is said here, and trusted everywhere else."""

import math
from typing import TYPE_CHECKING

from edgewise.errors import ArgumentError, ShapeError
from edgewise.records.arrays import FLOATS, Array

if TYPE_CHECKING:
    from edgewise.records.call import Call

__all__ = ["check"]

# What a broadcasting axis may be besides 1, for each array that may broadcast; keys are never left out of `allowed`.
AXES = ("batch", "heads", "query", "key")


def check(call: "Call") -> None:
    """Raise where the parts of a call do not fit together.

    Raises:
        ShapeError: two arrays do not fit together.
        ArgumentError: a number or a dtype is not one that attention can use.
    """
    where = f"{call.site.name}, call {call.index}"
    _check_site(call)
    _check_tensors(call, where)
    wanted = (call.query.shape[0], call.query.shape[1], call.query.shape[2], call.key.shape[2])
    if call.bias is not None:
        _check_broadcast("bias", call.bias, wanted, where)
    if call.allowed is not None:
        if call.graph is not None:
            raise ArgumentError(f"edges are said by a graph or by allowed, not by both ({where})")
        if call.allowed.dtype != "bool":
            raise ArgumentError(f"allowed must be bool, True = may attend; got {call.allowed.dtype} ({where})")
        _check_broadcast("allowed", call.allowed, wanted, where)
    if call.sinks is not None and call.sinks.shape != (wanted[1],):
        raise ShapeError(f"sinks must be (heads={wanted[1]},); got {call.sinks.shape} ({where})")
    for name in ("query", "key", "value", "out", "bias", "sinks"):
        array: Array | None = getattr(call, name)
        if array is not None and array.dtype not in FLOATS:
            raise ArgumentError(f"{name} must be floating point; got {array.dtype} ({where})")
    if not math.isfinite(call.scale):
        raise ArgumentError(f"scale must be a finite number; got {call.scale} ({where})")
    if call.soft_cap is not None and not (call.soft_cap > 0 and math.isfinite(call.soft_cap)):
        raise ArgumentError(f"soft_cap must be a positive number; got {call.soft_cap} ({where})")
    if call.graph is not None:
        _check_graph(call, where)


def _check_site(call: "Call") -> None:
    site = call.site
    if site.groups < 1 or site.heads % site.groups:
        raise ShapeError(f"heads must be a multiple of groups; got {site.heads} and {site.groups} ({site.name})")


def _check_tensors(call: "Call", where: str) -> None:
    for name in ("query", "key", "value", "out"):
        array: Array = getattr(call, name)
        if len(array.shape) != 4:
            axes = "heads, query" if name in ("query", "out") else "groups, key"
            raise ShapeError(f"{name} must be (batch, {axes}, width); got {array.shape} ({where})")
    (batch, _, rows, _), (_, _, keys, channels) = call.query.shape, call.value.shape
    heads, groups, width = len(call.heads), len(call.kept.groups(call.site)), call.site.width
    for name, wanted, axes in (
        ("query", (batch, heads, rows, width), AXES[1:3]),
        ("key", (batch, groups, keys, width), ("groups", "key")),
        ("value", (batch, groups, keys, channels), ("groups", "key")),
        ("out", (batch, heads, rows, channels), AXES[1:3]),
    ):
        got = getattr(call, name).shape
        if got != wanted:
            one, two = axes
            size = f"(batch={wanted[0]}, {one}={wanted[1]}, {two}={wanted[2]}, width={wanted[3]})"
            raise ShapeError(f"{name} must be {size}; got {got} ({where})")
    if call.kept.rows is not None and len(call.kept.rows) != rows:
        raise ShapeError(f"query must hold the {len(call.kept.rows)} rows that are kept; it holds {rows} ({where})")


def _check_broadcast(name: str, array: Array, wanted: tuple[int, ...], where: str) -> None:
    got = array.shape
    if len(got) != 4 or any(size not in (1, full) for size, full in zip(got, wanted, strict=True)):
        sizes = ", ".join(f"{axis}={size} or 1" for axis, size in zip(AXES, wanted, strict=True))
        raise ShapeError(f"{name} must be ({sizes}); got {got} ({where})")


def _check_graph(call: "Call", where: str) -> None:
    assert call.graph is not None
    if call.graph.batch not in (None, 1, call.batch):
        raise ShapeError(f"{call.graph!r} is made for {call.graph.batch} sequences; got batch={call.batch} ({where})")
    call.graph.check(call.rows, call.keys)
