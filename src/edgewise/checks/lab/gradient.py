"""Who moves whom, by gradient: random weights on the output at one query, and what they pull on at each token.

A gradient is exact where a change is not: a weight of 1e-40 moves no output by a bit and has a gradient all the same.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.given import Given

__all__ = ["pulls"]


def pulls(
    ask: Callable[[Given], Tensor],
    given: Given,
    field: str,
    row: int,
    module: nn.Module | None,
    *,
    alone: bool,
    generator: torch.Generator,
) -> Tensor | None:
    """The largest gradient of the output at each query with respect to each token: (query, token); None without any.

    Args:
        ask: what gives outputs with their graph.
        given: the input.
        field: which part of it is asked about.
        row: which row of the batch.
        module: the target, whose embedding stands for tokens that are ids.
        alone: whether to ask about one query after another in the input as it is, and not of a batch of copies.
        generator: of the random weights.
    """
    length = given.length
    asked = given if alone else given.rows([row] * length)
    values = getattr(asked, field)
    with torch.enable_grad(), _leaves(module, values) as leaves:
        if values.is_floating_point():
            leaves.append((0, values.detach().clone().requires_grad_(True)))
            asked = asked.replace(**{field: leaves[0][1]})
        out = ask(asked)
        if not out.requires_grad or not leaves:
            return None
        query_axis = 2 if given.key is not None else 1
        many = min(length, out.shape[query_axis])
        chosen = torch.randn(out.shape, generator=generator, dtype=torch.float64).to(out)
        found: list[Tensor] = []
        rounds = [(slice(row, row + 1), at) for at in range(many)] if alone else [(None, -1)]
        for rows, at in rounds:
            weights = torch.zeros_like(out)
            places = [(row, at)] if rows is not None else [(copy, copy) for copy in range(many)]
            for place, query in places:
                index = (place, slice(None), query) if query_axis == 2 else (place, query)
                weights[index] = chosen[index]
            wanted = [leaf for _, leaf in leaves]
            got = torch.autograd.grad(out, wanted, weights, retain_graph=rows is not None, allow_unused=True)
            size = _sizes(leaves, got, values)
            found.append(size[row : row + 1] if rows is not None else size[:many])
    return torch.cat(found)


@contextmanager
def _leaves(module: nn.Module | None, values: Tensor) -> Generator[list[tuple[int, Tensor]]]:
    """While this lasts, what an embedding makes of the ids is where gradients end; each with its first token."""
    leaves: list[tuple[int, Tensor]] = []
    if values.is_floating_point() or module is None:
        yield leaves
        return
    begun: dict[nn.Module, int] = {}

    def cut(layer: nn.Module, arguments: tuple[Any, ...], out: Tensor) -> Tensor | None:
        ids = arguments[0]
        at = begun.get(layer, 0)
        part = values[:, at : at + ids.shape[1]] if isinstance(ids, Tensor) and ids.dim() == 2 else None
        # An embedding of positions may be handed the ids as well, for their number, and gives one row for all.
        if part is None or part.shape != ids.shape or out.shape[:2] != ids.shape or not torch.equal(part, ids):
            return None
        begun[layer] = at + ids.shape[1]
        leaf = out.detach().requires_grad_(True)
        leaves.append((at, leaf))
        return leaf

    hooks = [one.register_forward_hook(cut) for one in module.modules() if isinstance(one, nn.Embedding)]
    try:
        yield leaves
    finally:
        for hook in hooks:
            hook.remove()


def _sizes(leaves: list[tuple[int, Tensor]], got: Any, values: Tensor) -> Tensor:
    """The largest gradient at each token: (batch, token)."""
    tokens = values.shape[2] if values.dim() == 4 else values.shape[1]
    sizes = torch.zeros(values.shape[0], tokens, dtype=torch.float64)
    for (at, _), one in zip(leaves, got, strict=True):
        if one is None:
            continue
        size = one.detach().abs().double()
        size = size.amax((1, 3)) if size.dim() == 4 else size.flatten(2).amax(-1) if size.dim() > 2 else size
        part = sizes[:, at : at + size.shape[1]]
        part.copy_(torch.where(size.isnan() | part.isnan(), torch.nan, torch.maximum(size, part)))
    return sizes
