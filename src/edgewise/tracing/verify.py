"""Whether a captured call explains its output: out, computed again from q, k, v and the edges, against the model's.

The bar is rounding, worked out for each row: scores are rounded in proportion to their size, and what they are off by
shifts the weights. Of long inputs a few rows are computed again, spread evenly, the first and the last among them.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from edgewise.attention import attend, reference
from edgewise.errors import TraceError
from edgewise.graphs import Graph
from edgewise.tracing.call import Attention
from edgewise.tracing.masks import Edges

__all__ = ["Check", "Checked", "compared"]

Check = Literal["some", "all", "none"]

CELLS = 1 << 15
LEAST = 4
"""Of a long call so many cells are computed again, in at least so many rows: about 1 % of a layer's time."""

ROUNDINGS = 8
"""How many times a number is rounded on the way, at most: product, scale, bias, softmax, sum, and back."""


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
    with torch.no_grad(), torch.autocast(out.device.type, enabled=False):
        residual, hidden = _difference(attention, out, rows) if not attention.shown else _beyond(attention, rows)
    return Checked(residual, hidden, "" if len(rows) == query else f"checked {len(rows)} of {query} rows")


def _rows(attention: Attention, check: Check) -> Tensor:
    batch, heads, query, _ = attention.query.shape
    most = query if check == "all" else max(LEAST, CELLS // max(1, batch * heads * attention.key.shape[2]))
    if most >= query:
        return torch.arange(query, device=attention.query.device)
    return torch.linspace(0, query - 1, most, device=attention.query.device).round().long()


class _Part(NamedTuple):
    """Some rows of a call, wide."""

    arguments: dict[str, Any]
    empty: Tensor
    """(batch or 1, heads or 1, rows, 1): where a query has no key."""


def _difference(attention: Attention, out: Tensor, rows: Tensor) -> tuple[float, float]:
    """The largest difference in some rows, and what queries without any key meet.

    Raises:
        TraceError: it is more than rounding.
    """
    hidden = attention.edges.hidden
    part = _part(attention, out, rows)
    again = attend(**part.arguments, route="matmul")
    got = out.detach()[:, :, rows].to(again.dtype)
    if not got.numel():
        return 0.0, hidden
    difference = (got - again).abs_()
    largest = float(difference.max())
    if math.isnan(largest):
        lost = part.empty & got.isnan().all(-1, keepdim=True)
        if bool(lost.any()):
            # A softmax over nothing is NaN where nobody guards it.
            hidden, difference = math.nan, difference.masked_fill(lost, 0)
            largest = float(difference.max())
    if largest <= ROUNDINGS * _unit(attention, out) * float(got.abs().max()):
        return largest, hidden
    values = attention.value.detach().aminmax()
    size = max(abs(float(values.min)), abs(float(values.max)))
    if largest <= ROUNDINGS * _unit(attention, out) * size:
        return largest, hidden
    logits = reference(**part.arguments).scaled
    logits = logits.masked_fill(~part.arguments["graph"], 0).abs().amax(-1)
    excess = (difference.amax(-1) / _bar(attention, out, logits, size)).nan_to_num(math.inf).amax((0, 1))
    if float(excess.max()) > 1:
        raise TraceError(_told(attention, largest, int(rows[int(excess.argmax())])))
    return largest, hidden


def _beyond(attention: Attention, rows: Tensor) -> tuple[float, float]:
    """As `_difference`, of what a fused layer shows further on.

    Raises:
        TraceError: it is more than rounding.
    """
    shown, hidden = attention.shown[0], attention.edges.hidden
    got = shown.tensor[:, rows]
    again = shown.after(attend(**_part(attention, got, rows).arguments, route="matmul").to(got.dtype), rows)
    there = torch.ones_like(got[..., :1], dtype=torch.bool) if shown.present is None else shown.present[:, rows, None]
    difference = (got - again).abs().masked_fill(~there, 0).float()
    largest = float(difference.max()) if difference.numel() else 0.0
    # The layers behind it round again, some of them what they have made larger.
    bar = ROUNDINGS**2 * torch.finfo(got.dtype).eps * max(1.0, float(got.masked_fill(~there, 0).abs().max()))
    if not largest <= bar:
        raise TraceError(_told(attention, largest, int(rows[int(difference.amax((0, 2)).argmax())])))
    return largest, hidden


def _part(attention: Attention, out: Tensor, rows: Tensor) -> _Part:
    edges = attention.edges
    whole = len(rows) == attention.query.shape[2]
    wide = torch.promote_types(torch.promote_types(attention.query.dtype, out.dtype), torch.float32)
    query = attention.query.detach() if whole else attention.query.detach()[:, :, rows]
    bias = edges.bias if edges.bias is None or whole or edges.bias.shape[2] == 1 else edges.bias[:, :, rows]
    lengths = (attention.query.shape[2], attention.key.shape[2], len(rows), 3)
    allowed, empty, some = attention.memory.recall(attention.masks, lengths, lambda: _cells(attention, edges, rows))
    if some and math.isfinite(edges.hidden):
        allowed = allowed | empty
        shift = empty.to(wide) * edges.hidden
        bias = shift if bias is None else bias.to(wide) + shift
    sinks = None if attention.sinks is None else attention.sinks.detach().to(wide)
    arguments = {
        "query": query.to(wide),
        "key": attention.key.detach().to(wide),
        "value": attention.value.detach().to(wide),
        "graph": allowed,
        "scale": attention.scale,
        "bias": bias,
        "soft_cap": attention.soft_cap,
        "sinks": sinks,
    }
    return _Part(arguments, empty)


def _bar(attention: Attention, out: Tensor, logits: Tensor, size: float) -> Tensor:
    """How far rounding may carry each row, from the size of its scores and of what it reads."""
    unit = _unit(attention, out)
    off = (logits + math.sqrt(attention.query.shape[-1])) * (unit * ROUNDINGS)
    return size * (torch.expm1(off.clamp_max(10)) + ROUNDINGS * unit)


def _unit(attention: Attention, out: Tensor) -> float:
    """The relative rounding of the coarsest dtype that was used."""
    return max(torch.finfo(dtype).eps for dtype in (out.dtype, attention.query.dtype))


def _cells(attention: Attention, edges: Edges, rows: Tensor) -> tuple[Tensor, Tensor, bool]:
    """The edges of some rows, which of these have none, and whether any has."""
    allowed = _allowed(attention, edges.allowed, rows)
    empty = ~allowed.any(-1, keepdim=True)
    return allowed, empty, bool(empty.any())


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
