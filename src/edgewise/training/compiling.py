"""What the compiler makes of a step: loss and gradient as one graph, and how it is told to compute some operations."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import grad_and_value

__all__ = ["compiled_gradient"]

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
Gradient = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def compiled_gradient(loss_at: Loss) -> Gradient:
    """Return a function that returns the loss and its gradient with respect to the first argument."""

    def gradient(vector: Tensor, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        # torch.func sees forward and backward together, so that the compiler fuses across the two.
        found, loss = grad_and_value(loss_at)(vector, tokens, targets)
        return loss, found

    return torch.compile(gradient, fullgraph=True, dynamic=False)
