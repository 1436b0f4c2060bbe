"""Whether a captured call explains its output: out, computed again from q, k, v and the edges, against the model's.

The bar is rounding, worked out for each row: scores are rounded in proportion to their size, and what they are off by
shifts the weights. Of long inputs a few rows are computed again, spread evenly, the first and the last among them.
"""

import math
from contextlib import nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from edgewise.attention import attend, reference
from edgewise.errors import TraceError
from edgewise.graphs import Graph
from edgewise.tracing.call import Attention

__all__ = ["Check", "Checked", "compared"]

Check = Literal["some", "all", "none"]

CELLS = 1 << 13
LEAST = 4
"""Of a long call so many cells are computed again, in at least so many rows: about 1 % of a layer's time."""

ROUNDINGS = 8
"""How many times a number is rounded on the way, at most: product, scale, bias, softmax, sum, and back."""

_UNSEEN = "rows without any key are not explained"


class Checked(NamedTuple):
    """What came of looking."""

    residual: float
    """Largest difference between the two outputs; NaN where nobody looked."""
    hidden: float
    """What a query without any key meets: −∞ for zeros, NaN for NaN, finite where the model has a number there."""
    note: str
    """How many rows were looked at, or why none."""


def compared(attention: Attention, out: Tensor, check: Check) -> Checked:
    """The output of a call against the same computed again.

    Raises:
        TraceError: they differ by more than rounding.
    """
    hidden = attention.edges.hidden
    if attention.note:
        return Checked(math.nan, hidden, f"not checked: {attention.note}")
    if attention.dropout:
        return Checked(math.nan, hidden, f"not checked: dropout {attention.dropout:g} drew numbers of its own")
    if check == "none":
        return Checked(math.nan, hidden, "not checked: as asked")
    query = attention.query.shape[2]
    rows = _rows(attention, check)
    # What autocast does to the model is part of what is looked at, and not of the looking.
    exact = torch.autocast(out.device.type, enabled=False) if torch.is_autocast_enabled(out.device.type) else None
    with torch.no_grad(), exact or nullcontext():
        found = _difference(attention, out, rows) if not attention.shown else _beyond(attention, rows)
    some = "" if rows.all else f"checked {len(rows.numbers)} of {query} rows"
    return found._replace(note="; ".join(filter(None, (some, found.note))))


class _Rows(NamedTuple):
    """Some rows of a call, and their edges."""

    numbers: Tensor
    all: bool
    allowed: Tensor
    """(batch or 1, heads or 1, rows, key)"""
    empty: Tensor
    """(batch or 1, heads or 1, rows, 1): where a query has no key."""
    some_empty: bool

    def of(self, tensor: Tensor, axis: int = 2) -> Tensor:
        """What is theirs of a tensor, detached."""
        tensor = tensor.detach()
        return tensor if self.all or tensor.shape[axis] == 1 else tensor.index_select(axis, self.numbers)


def _rows(attention: Attention, check: Check) -> _Rows:
    batch, heads, query, _ = attention.query.shape
    key = attention.key.shape[2]
    most = query if check == "all" else min(query, max(LEAST, CELLS // max(1, batch * heads * key)))

    def find() -> _Rows:
        numbers = torch.linspace(0, query - 1, most, device=attention.query.device).round().long()
        allowed = _allowed(attention, attention.edges.allowed, numbers)
        empty = ~allowed.any(-1, keepdim=True)
        return _Rows(numbers, most == query, allowed, empty, bool(empty.any()))

    return attention.memory.recall(attention.masks, (query, key, most, 3), find)


def _difference(attention: Attention, out: Tensor, rows: _Rows) -> Checked:
    """The largest difference in some rows, what queries without any key meet, and whether these are understood.

    Raises:
        TraceError: it is more than rounding.
    """
    hidden = attention.edges.hidden
    arguments = _arguments(attention, out, rows)
    again = attend(**arguments, route="matmul")
    got = rows.of(out).to(again.dtype)
    if not got.numel():
        return Checked(0.0, hidden, "")
    difference = (got - again).abs_()
    largest = float(difference.max())
    if math.isnan(largest):
        lost = rows.empty & got.isnan().all(-1, keepdim=True)
        if bool(lost.any()):
            hidden = math.nan  # a softmax over nothing, where nobody guards it
        difference = difference.masked_fill(lost | (got == again) | (got.isnan() & again.isnan()), 0)
        largest = float(difference.max())
    if largest <= ROUNDINGS * _unit(attention, out) * float(got.abs().max()):
        return Checked(largest, hidden, "")
    values = attention.value.detach().aminmax()
    size = max(abs(float(values.min)), abs(float(values.max)))
    if largest <= ROUNDINGS * _unit(attention, out) * size:
        return Checked(largest, hidden, "")
    note = ""
    if rows.some_empty and math.isfinite(hidden):
        # Where all keys are hidden the model weighs hidden ones against each other, which nobody reads.
        others = difference.masked_fill(rows.empty, 0)
        if float(others.max()) < largest:
            note, difference, largest = _UNSEEN, others, float(others.max())
    logits = reference(**arguments).scaled
    logits = logits.masked_fill(~arguments["graph"], 0).abs().amax(-1)
    excess = (difference.amax(-1) / _bar(attention, out, logits, size)).nan_to_num(math.inf).amax((0, 1))
    if float(excess.max()) > 1:
        raise TraceError(_told(attention, largest, int(rows.numbers[int(excess.argmax())])))
    return Checked(largest, hidden, note)


def _beyond(attention: Attention, rows: _Rows) -> Checked:
    """As `_difference`, of what a fused layer shows further on.

    Raises:
        TraceError: it is more than rounding.
    """
    shown, hidden = attention.shown[0], attention.edges.hidden
    got = rows.of(shown.tensor, 1)
    again = shown.after(attend(**_arguments(attention, got, rows), route="matmul").to(got.dtype), rows.numbers)
    there = (
        torch.ones_like(got[..., :1], dtype=torch.bool)
        if shown.present is None
        else rows.of(shown.present, 1)[..., None]
    )
    difference = (got - again).abs().masked_fill(~there, 0).float()
    largest = float(difference.max()) if difference.numel() else 0.0
    # The layers behind it round again, some of them what they have made larger.
    bar = ROUNDINGS**2 * torch.finfo(got.dtype).eps * max(1.0, float(got.masked_fill(~there, 0).abs().max()))
    if not largest <= bar:
        raise TraceError(_told(attention, largest, int(rows.numbers[int(difference.amax((0, 2)).argmax())])))
    return Checked(largest, hidden, "")


def _arguments(attention: Attention, out: Tensor, rows: _Rows) -> dict[str, Any]:
    """Some rows of a call in the words of `attend`, wide."""
    edges = attention.edges
    wide = torch.promote_types(torch.promote_types(attention.query.dtype, out.dtype), torch.float32)
    allowed, bias = rows.allowed, edges.bias if edges.bias is None else rows.of(edges.bias)
    if rows.some_empty and math.isfinite(edges.hidden):
        allowed = allowed | rows.empty
        shift = rows.empty.to(wide) * edges.hidden
        bias = shift if bias is None else bias.to(wide) + shift
    return {
        "query": rows.of(attention.query).to(wide),
        "key": attention.key.detach().to(wide),
        "value": attention.value.detach().to(wide),
        "graph": allowed,
        "scale": attention.scale,
        "bias": bias,
        "soft_cap": attention.soft_cap,
        "sinks": None if attention.sinks is None else attention.sinks.detach().to(wide),
    }


def _bar(attention: Attention, out: Tensor, logits: Tensor, size: float) -> Tensor:
    """How far rounding may carry each row, from the size of its scores and of what it reads."""
    unit = _unit(attention, out)
    off = (logits + math.sqrt(attention.query.shape[-1])) * (unit * ROUNDINGS)
    return size * (torch.expm1(off.clamp_max(10)) + ROUNDINGS * unit)


def _unit(attention: Attention, out: Tensor) -> float:
    """The relative rounding of the coarsest dtype that was used."""
    return max(torch.finfo(dtype).eps for dtype in (out.dtype, attention.query.dtype))


def _allowed(attention: Attention, allowed: Graph | Tensor, rows: Tensor) -> Tensor:
    """The edges of some rows, (batch or 1, heads or 1, rows, key)."""
    if isinstance(allowed, Tensor):
        return allowed[:, :, rows]
    query, key = attention.query.shape[2], attention.key.shape[2]
    at = rows.cpu().numpy()[:, None] + (key - query)
    batch = None if allowed.batch is None else np.arange(allowed.batch)[:, None, None]
    found = np.broadcast_to(allowed.allows(at, np.arange(key)[None], batch), (allowed.batch or 1, rows.numel(), key))
    return torch.from_numpy(np.array(found))[:, None].to(rows.device)


def _told(attention: Attention, residual: float, row: int) -> str:
    return (
        f"{attention.site.name}: query, key, value and mask as captured must give the model's output up to rounding; "
        f"got a difference of {residual:.2e} at row {row} ({attention.route}): this site does more than was seen; "
        'leave it out with sites=, or look on with check="none"'
    )
