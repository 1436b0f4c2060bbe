"""Which module makes a dependence: the first, and innermost, whose output moves while its inputs do not."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.results import tensors

__all__ = ["first_moved"]


def first_moved(
    module: nn.Module, runs: Sequence[Callable[[], Any]], row: int, query: int, batch: int, length: int
) -> str:
    """Return the path of the first module whose output at a token differs between two runs while its inputs do not.

    Args:
        module: what runs.
        runs: two runs of it that differ in what must not be felt.
        row: of the batch.
        query: the token that must not feel it.
        batch: sequences.
        length: tokens.
    """
    before, after = (_kept(module, run, lambda one: _at(one, row, query, batch, length)) for run in runs)
    if [name for name, _, _ in before] != [name for name, _, _ in after]:
        return ""
    for (name, given, made), (_, other, changed) in zip(before, after, strict=True):
        if _moved(made, changed) and given and not _moved(given, other):
            return name or type(module).__name__
    return ""


_Row = tuple[str, list[Tensor], list[Tensor]]


def _kept(module: nn.Module, run: Callable[[], Any], at: Callable[[Tensor], Tensor | None]) -> list[_Row]:
    """What went into each module and came out, at one token, in the order in which they finished: inner ones first."""
    rows: list[_Row] = []

    def cut(several: Any) -> list[Tensor]:
        found = (at(one) for one in tensors(several))
        return [one.detach().clone() for one in found if one is not None]

    with ExitStack() as hooks:
        for name, one in module.named_modules():

            def keep(_: nn.Module, given: Any, named: Any, made: Any, name: str = name) -> None:
                rows.append((name, cut((given, named)), cut(made)))

            hooks.callback(one.register_forward_hook(keep, with_kwargs=True).remove)
        run()
    return rows


def _at(one: Tensor, row: int, query: int, batch: int, length: int) -> Tensor | None:
    """The part of a tensor that belongs to one token of one sequence; None where it has no such axes."""
    if one.dim() >= 2 and one.shape[:2] == (batch, length):
        return one[row, query]
    if one.dim() == 4 and (one.shape[0], one.shape[2]) == (batch, length):
        return one[row, :, query]
    return one[query, row] if one.dim() == 3 and one.shape[:2] == (length, batch) else None


def _moved(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    return any(not torch.equal(a, b) for a, b in zip(one, other, strict=False))
