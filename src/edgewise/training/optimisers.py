"""The update: AdamW on all weights, or Muon on the matrices of hidden layers and AdamW on the others."""

from typing import Protocol

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from edgewise.training.flat import Flat, Part
from edgewise.training.recipe import Recipe

__all__ = ["AdamW", "Both", "Muon", "Optimiser", "optimiser_for", "orthogonal"]


class Optimiser(Protocol):
    """Changes weights by a gradient and remembers what it needs for the next time."""

    def update(self, gradient: Tensor, factor: float) -> None:
        """Make one update; `factor` multiplies the learning rate."""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """Return what it remembers, the tensors themselves."""
        ...


class AdamW:
    """Moves a stretch of the vector by torch's fused AdamW, and lets all of it but single rows decay.

    Source: Loshchilov & Hutter 2019, "Decoupled weight decay regularization", arXiv:1711.05101.
    """

    def __init__(self, flat: Flat, parts: list[Part], recipe: Recipe) -> None:
        self.rate, self.betas = recipe.learning_rate, recipe.betas
        decaying = [part for part in parts if len(part.shape) > 1]
        staying = [part for part in parts if len(part.shape) <= 1]
        self.stretches = [
            Stretch(flat.vector, slice(some[0].start, some[-1].stop), decay)
            for some, decay in ((decaying, recipe.weight_decay), (staying, 0.0))
            if some
        ]

    def update(self, gradient: Tensor, factor: float) -> None:
        """Make one update."""
        for stretch in self.stretches:
            adamw(
                [stretch.weights],
                [gradient[stretch.place]],
                [stretch.first],
                [stretch.second],
                [],
                [stretch.count],
                fused=True,
                amsgrad=False,
                beta1=self.betas[0],
                beta2=self.betas[1],
                lr=self.rate * factor,
                weight_decay=stretch.decay,
                eps=1e-8,
                maximize=False,
            )

    def state_dict(self) -> dict[str, Tensor]:
        """Return the count of steps and the running means of gradient and square of each stretch."""
        return {
            f"adamw.{place}.{name}": tensor
            for place, one in enumerate(self.stretches)
            for name, tensor in (("first", one.first), ("second", one.second), ("count", one.count))
        }


class Stretch:
    """Neighbouring weights that decay alike, with the running means that AdamW keeps of them."""

    def __init__(self, vector: Tensor, place: slice, decay: float) -> None:
        self.place, self.decay = place, decay
        self.weights = vector[place]
        self.first, self.second = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        self.count = torch.zeros((), device=vector.device)


class Muon:
    """Moves hidden matrices by their momentum, made orthogonal: every direction of a matrix learns at the same speed.

    A matrix is cut into squares (query, key and value are three matrices in one; the feed-forward's are cut so too), so
    that those of all layers are one stack, and one batched product serves them all: `torch.optim.Muon`, which takes
    one matrix after the other, needs four times as long for the small ones here.

    Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks",
    https://kellerjordan.github.io/posts/muon/. We differ in the cutting.
    """

    def __init__(self, flat: Flat, parts: list[Part], recipe: Recipe) -> None:
        self.rate, self.decay, self.beta = recipe.matrix_rate, recipe.weight_decay, recipe.momentum
        self.stretch = slice(parts[0].start, parts[-1].stop)
        self.weights = flat.vector[self.stretch]
        self.momentum = torch.zeros_like(self.weights)
        self.shapes = [part.shape for part in parts]

    def update(self, gradient: Tensor, factor: float) -> None:
        """Make one update."""
        gradient = gradient[self.stretch]
        self.momentum.lerp_(gradient, 1 - self.beta)
        # Nesterov: where the momentum will be after the next gradient like this one.
        ahead = self._squares(gradient.lerp(self.momentum, self.beta))
        self.weights.mul_(1 - self.rate * factor * self.decay)
        for shape in {piece.shape for piece in ahead}:
            stack = torch.stack([piece for piece in ahead if piece.shape == shape])
            places = [piece for piece in self._squares(self.weights) if piece.shape == shape]
            moves = list(orthogonal(stack))
            torch._foreach_add_(places, moves, alpha=-self.rate * factor)  # pyright: ignore[reportPrivateImportUsage]

    def state_dict(self) -> dict[str, Tensor]:
        """Return the momentum."""
        return {"muon.momentum": self.momentum}

    def _squares(self, vector: Tensor) -> list[Tensor]:
        """Return the matrices in a vector, as views, those that squares can be made of cut into squares."""
        pieces: list[Tensor] = []
        for part, shape in zip(vector.split([shape.numel() for shape in self.shapes]), self.shapes, strict=True):
            rows, columns = shape
            side = min(rows, columns)
            whole = rows % side == 0 and columns % side == 0
            pieces += part.view(shape).split(side, 0 if rows > columns else 1) if whole else [part.view(shape)]
        return pieces


class Both:
    """Muon for the matrices of hidden layers, AdamW for the other weights."""

    def __init__(self, muon: Muon, adamw: AdamW) -> None:
        self.muon, self.adamw = muon, adamw

    def update(self, gradient: Tensor, factor: float) -> None:
        """Make one update."""
        self.muon.update(gradient, factor)
        self.adamw.update(gradient, factor)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what both remember."""
        return self.muon.state_dict() | self.adamw.state_dict()


def optimiser_for(flat: Flat, recipe: Recipe) -> Optimiser:
    """Return the recipe's optimiser for these weights; Muon is AdamW where a model has no hidden matrix."""
    if recipe.optimiser == "muon" and flat.hidden:
        return Both(Muon(flat, flat.hidden, recipe), AdamW(flat, flat.tables + flat.rows, recipe))
    return AdamW(flat, flat.parts, recipe)


def orthogonal(stack: Tensor, steps: int = 5) -> Tensor:
    """Return for each matrix of a stack one with the same singular directions, all singular values near 1.

    Newton–Schulz steps in bfloat16 push every singular value into about 0.7 … 1.2, which is near enough, in nothing but
    matrix products.
    """
    x = stack.bfloat16()
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        odd = torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, odd, x, beta=3.4445)
    return x.to(stack.dtype)
