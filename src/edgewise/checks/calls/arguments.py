"""What a target is handed for what it is given: each argument in the form that the target takes."""

from typing import Any

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.subject import Argument, Subject

__all__ = ["Refused", "counted", "document_value", "mask_value", "position_value", "square_value"]


class Refused(Exception):  # noqa: N818 - it is no error of ours: one sentence that says why a route cannot be gone
    """A target does not take a route; the text says why, in a sentence."""


def counted(given: Given) -> Tensor:
    """The position of each token: as set, from the start of its document, or among the real tokens of its row."""
    if given.positions is not None:
        return given.positions
    device = given.tokens.device
    plain = torch.arange(given.length, device=device).expand(given.batch, given.length)
    if given.documents is not None:
        new = torch.ones_like(given.documents, dtype=torch.bool)
        new[:, 1:] = given.documents[:, 1:] != given.documents[:, :-1]
        return plain - torch.where(new, plain, 0).cummax(1).values
    if given.keep is not None:
        return (given.keep.long().cumsum(1) - 1).clamp(min=0)
    return plain


def position_value(argument: Argument, positions: Tensor, start: int) -> Any:
    """Positions of the tokens of one call, of which the first in a row of them all is `start`."""
    if argument.form == "start":
        return start
    positions = positions + argument.origin
    if argument.shape == "query":
        if not bool((positions == positions[:1]).all()):
            raise Refused(f"{argument.name} is one row of positions for all sequences, and here they differ")
        return positions[0]
    if argument.shape == "query batch":
        return positions.t()
    return positions


def document_value(argument: Argument, documents: Tensor) -> Any:
    """Which tokens are of one document, as ids or as where each begins."""
    if argument.form == "cumulative":
        if documents.shape[0] > 1 and not bool((documents == documents[:1]).all()):
            raise Refused(f"{argument.name} is one list of lengths for all sequences, and here they differ")
        _, lengths = torch.unique_consecutive(documents[0], return_counts=True)
        return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(torch.int32)
    if argument.shape == "query":
        if not bool((documents == documents[:1]).all()):
            raise Refused(f"{argument.name} is one row of documents for all sequences, and here they differ")
        return documents[0]
    return documents


def mask_value(argument: Argument, keep: Tensor, subject: Subject, query: int) -> Tensor:
    """A mask over tokens (batch, key), as the target takes it."""
    if argument.form == "lengths":
        if bool((keep[:, 1:] & ~keep[:, :-1]).any()):
            raise Refused(f"{argument.name} says how many tokens are real, so padding is at the end alone")
        return keep.sum(1)
    batch, key = keep.shape
    axes = {
        "batch key": keep,
        "batch memory+key": keep,
        "key batch": keep.t(),
        "batch 1 key": keep[:, None],
        "batch 1 1 key": keep[:, None, None],
        "batch query key": keep[:, None].expand(batch, query, key),
        "batch 1 query key": keep[:, None, None].expand(batch, 1, query, key),
    }
    return _said(argument, axes[argument.shape or "batch key"], subject.dtype)


def square_value(argument: Argument, allowed: Tensor, keep: Tensor | None, subject: Subject, batch: int) -> Tensor:
    """A mask over pairs (query, key), joined with one over tokens where both go into the same argument."""
    if allowed.dim() == 2:
        allowed = allowed[None]
    if keep is not None:
        allowed = allowed & keep[:, None, :]
    shape = argument.shape or "query key"
    if shape == "query key":
        if keep is not None and not bool(keep.all()):
            raise Refused(f"{argument.name} is one square for all sequences, and here padding differs")
        return _said(argument, allowed[0], subject.dtype)
    full = allowed.expand(batch, -1, -1)
    if shape == "batch*heads query key":
        return _said(argument, full.repeat_interleave(subject.heads or 1, 0), subject.dtype)
    return _said(argument, full[:, None] if shape == "batch 1 query key" else full, subject.dtype)


def _said(argument: Argument, keep: Tensor, dtype: torch.dtype) -> Tensor:
    """True for what may be read, in the target's own words."""
    if argument.form == "additive":
        # The lowest number rather than -inf: a row that hides everything must not become NaN by what is added here.
        zeros = torch.zeros(keep.shape, dtype=dtype, device=keep.device)
        return zeros.masked_fill(~keep, torch.finfo(dtype).min)
    said = ~keep if argument.form == "hide" else keep
    kinds = {"int": torch.long, "float": dtype}
    return said.contiguous() if argument.dtype in ("", "bool") else said.to(kinds[argument.dtype])
