"""Whether a captured call explains its output: out, computed again from q, k, v and the edges, against the model's.

The bar is rounding, worked out for each row: scores are rounded in proportion to their size, and what they are off by
shifts the weights. Of long inputs a few rows are computed again, spread evenly, the first and the last among them.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.errors import TraceError
from edgewise.graphs import Graph
from edgewise.tracing.call import Attention

__all__ = ["Check", "Checked", "compared"]

Check = Literal["some", "all", "none"]

CELLS = 1 << 18  # cells computed again of a long call: about 1 % of a layer's time at 2,048 tokens

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
    with torch.no_grad(), torch.autocast(out.device.type, enabled=False):
        residual, hidden, excess, row = _residual(attention, out[:, :, rows], rows)
    if excess > 1 or math.isnan(excess):
        raise TraceError(_told(attention, residual, int(rows[row])))
    return Checked(residual, hidden, "" if len(rows) == query else f"checked {len(rows)} of {query} rows")


def _rows(attention: Attention, check: Check) -> Tensor:
    batch, heads, query, _ = attention.query.shape
    most = query if check == "all" else max(2, CELLS // max(1, batch * heads * attention.key.shape[2]))
    if most >= query:
        return torch.arange(query, device=attention.query.device)
    return torch.linspace(0, query - 1, most, device=attention.query.device).round().long()


def _residual(attention: Attention, out: Tensor, rows: Tensor) -> tuple[float, float, float, int]:
    """The largest difference, what empty rows meet, the largest difference in units of its bar, and in which row."""
    edges = attention.edges
    allowed, bias, hidden = _cells(attention, edges.allowed, rows), _part(edges.bias, rows), edges.hidden
    wide = torch.promote_types(torch.promote_types(attention.query.dtype, out.dtype), torch.float32)
    query, key, value = (one.detach().to(wide) for one in (attention.query[:, :, rows], attention.key, attention.value))
    empty = ~allowed.any(-1, keepdim=True)
    if math.isfinite(hidden) and bool(empty.any()):
        allowed = allowed | empty
        shift = empty.to(wide) * hidden
        bias = shift if bias is None else bias.to(wide) + shift
    sinks = None if attention.sinks is None else attention.sinks.detach().to(wide)
    found = reference(
        *(query, key, value, allowed),
        scale=attention.scale,
        bias=bias,
        soft_cap=attention.soft_cap,
        sinks=sinks,
    )
    got = out.detach().to(wide)
    lost = empty.expand(*got.shape[:-1], 1) & got.isnan().all(-1, keepdim=True)
    if bool(lost.any()):
        # A softmax over nothing is NaN where nobody guards it.
        hidden, got = math.nan, got.masked_fill(lost, 0)
    difference = (got - found.out).abs().amax(-1)
    logits = found.masked.masked_fill(~found.allowed, 0).abs().amax(-1)
    bar = _bar(attention, out, logits)
    excess = (difference / bar).amax((0, 1)) if difference.numel() else difference.new_zeros(1)
    row = int(excess.nan_to_num(torch.inf).argmax())
    return float(difference.amax()) if difference.numel() else 0.0, hidden, float(excess[row]), row


def _bar(attention: Attention, out: Tensor, logits: Tensor) -> Tensor:
    """How far rounding may carry each row, from the size of its scores and of what it reads."""
    unit = max(_unit(out.dtype), _unit(attention.query.dtype))
    if torch.is_autocast_enabled(out.device.type):
        unit = max(unit, _unit(torch.get_autocast_dtype(out.device.type)))
    size = attention.query.shape[-1]
    largest = attention.value.detach().abs().amax().clamp_min(torch.finfo(attention.value.dtype).tiny).to(logits.dtype)
    off = (logits.clamp_max(1e4) + math.sqrt(size)) * unit * ROUNDINGS
    return largest * (torch.expm1(off.clamp_max(10)) + ROUNDINGS * unit)


def _unit(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


def _cells(attention: Attention, allowed: Graph | Tensor, rows: Tensor) -> Tensor:
    """The edges of some rows, (batch or 1, heads or 1, rows, key)."""
    if isinstance(allowed, Tensor):
        return allowed[:, :, rows]
    query, key = attention.query.shape[2], attention.key.shape[2]
    at = rows.cpu().numpy()[:, None] + (key - query)
    batch = None if allowed.batch is None else np.arange(allowed.batch)[:, None, None]
    found = np.broadcast_to(allowed.allows(at, np.arange(key)[None], batch), (allowed.batch or 1, rows.numel(), key))
    return torch.from_numpy(np.array(found))[:, None].to(rows.device)


def _part(bias: Tensor | None, rows: Tensor) -> Tensor | None:
    return bias if bias is None or bias.shape[2] == 1 else bias[:, :, rows]


def _told(attention: Attention, residual: float, row: int) -> str:
    return (
        f"{attention.site.name}: query, key, value and mask as captured must give the model's output up to rounding; "
        f"got a difference of {residual:.2e} at row {row} ({attention.route}): this site does more than was seen; "
        'leave it out with sites=, or look on with check="none"'
    )
