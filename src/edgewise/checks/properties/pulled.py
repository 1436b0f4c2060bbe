"""Gradients of a loss, where the target lets any through."""

from collections.abc import Sequence

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused

__all__ = ["pulled"]


def pulled(loss: Tensor, leaves: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the gradient for each leaf, None for one that the loss does not depend on.

    Raises:
        Refused: there is none: a part of the target has no gradient, or its own code for it fails.
    """
    if not leaves or not loss.requires_grad:
        raise Refused("it lets no gradient through")
    try:
        return list(torch.autograd.grad(loss, list(leaves), allow_unused=True))
    except Exception as error:  # the target's own backward pass runs here, and may raise anything
        raise Refused(f"its gradient cannot be had: {type(error).__name__}: {str(error)[:120]}") from None
