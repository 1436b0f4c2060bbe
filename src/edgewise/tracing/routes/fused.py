"""What torch's fused layers hide, computed beside them: their queries, keys and values, and their attention's output.

They project, attend and project back in one call that shows none of it. What they are given is projected once more
(three quarters of the projections of a layer, where somebody watches); the attention is ours, and what follows from it
is compared with what the layer shows, so that a difference does not stay unseen.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from edgewise.graphs import keys
from edgewise.tracing.masks import Mask

__all__ = ["Padded", "as_cast_now", "masks_of", "merged", "padded", "projected"]


class Padded(NamedTuple):
    """A batch that may come without its padding, as a nested tensor."""

    tensor: Tensor
    """(batch, query, channels)"""
    present: Tensor | None
    """(batch, query): True where there is a token; None where there is no padding to speak of."""

    def back(self, tensor: Tensor) -> Tensor:
        """A result in the form in which the batch came."""
        if self.present is None:
            return tensor
        rows = [one[: int(length)] for one, length in zip(tensor, self.present.sum(-1), strict=True)]
        return torch.nested.as_nested_tensor(rows)


def padded(batch: Tensor) -> Padded:
    """The batch with its padding, zeros."""
    if not batch.is_nested:
        return Padded(batch, None)
    lengths = torch.tensor([len(one) for one in batch.unbind()])
    return Padded(batch.to_padded_tensor(0.0), torch.arange(int(lengths.max()))[None] < lengths[:, None])


def projected(batch: Tensor, heads: int, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, (batch, heads, query, width)."""
    query, key, value = functional.linear(batch, weight, bias).chunk(3, -1)
    return query.unflatten(-1, (heads, -1)).transpose(1, 2), *(
        one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (key, value)
    )  # pyright: ignore[reportReturnType]


def as_cast_now(like: Tensor) -> Callable[[], AbstractContextManager[object]]:
    """What makes autocast later what it is now, on the device of a tensor."""
    device = like.device.type
    enabled, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    return lambda: torch.autocast(device, dtype, enabled)


def merged(out: Tensor) -> Tensor:
    """(batch, query, channels) of (batch, heads, query, width)."""
    return out.transpose(1, 2).flatten(2)


def masks_of(mask: Tensor | None, kind: int | None, given: Padded) -> tuple[Mask, ...]:
    """The mask of a fused layer, in which whatever is not zero hides.

    Args:
        mask: booleans, or the numbers that torch makes of them.
        kind: 0 for (query, key), 1 for (batch, key), 2 for (batch, heads, query, key).
        given: the batch.
    """
    found: list[Mask] = [] if given.present is None else [keys(given.present.numpy())]
    if mask is not None:
        shown = mask == 0
        found.append({0: shown[None, None], 1: shown[:, None, None]}.get(2 if kind is None else kind, shown))
    return tuple(found)
