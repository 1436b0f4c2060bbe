"""One step of training: the loss of a batch, its gradient, and the update.

The weights are one float32 vector (`flat.py`), and so is their gradient. In bfloat16 a step converts that vector once,
does forward and backward in bfloat16 and gets the gradient back in float32; the master weights, the sums of the
optimiser and the loss stay in float32. Compiled, forward and backward are one graph (`compiling.py`).
"""

import copy
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from edgewise.training.compiling import compiled_gradient
from edgewise.training.distributed import World
from edgewise.training.flat import Flat
from edgewise.training.optimisers import optimiser_for
from edgewise.training.recipe import Recipe

__all__ = ["Step"]


class Step:
    """Makes one update of `model` per call, in place.

    Args:
        model: any model that turns tokens (batch, query) into logits (batch, query, vocabulary), on its device.
        recipe: optimiser, rates, clipping.
        precision: what forward and backward compute in; "bfloat16" keeps float32 master weights.
        compiled: whether torch.compile makes one graph of them; its first call takes some twenty seconds.
        world: the processes that share the batch; each gives its own slice.

    Attributes:
        gradient_norm: of the last step's gradient, before it was clipped.
    """

    def __init__(
        self,
        model: nn.Module,
        recipe: Recipe,
        *,
        precision: Literal["float32", "bfloat16"] = "float32",
        compiled: bool = False,
        world: World | None = None,
    ) -> None:
        self.model, self.recipe, self.world = model, recipe, world or World()
        self.flat = Flat(model)
        self.optimiser = optimiser_for(self.flat, recipe)
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        # The model that computes: itself, or a copy whose weights are views of the vector converted.
        self._worker = model if precision == "float32" else copy.deepcopy(model).to(self.dtype)
        self._rounded = self.flat.vector.to(self.dtype)
        self._weights = self.flat.attach(self._worker, self._rounded)
        # What a model notes while it trains (running means) belongs to the model that is saved.
        self._notes = [] if self._worker is model else list(zip(model.buffers(), self._worker.buffers(), strict=True))
        self.gradient_norm = torch.zeros((), device=self.flat.vector.device)
        self._gradient = compiled_gradient(self._loss_at) if compiled else self._eager_gradient

    def __call__(self, batches: list[tuple[Tensor, Tensor]], learning_rate_factor: float) -> Tensor:
        """Return the mean loss of `batches` after one update from their mean gradient."""
        if not self._worker.training:
            self._worker.train()
        for kept, noted in self._notes:
            noted.copy_(kept)
        losses, gradient = [], None
        for tokens, targets in batches:
            loss, new = self._gradient(self.flat.vector, tokens, targets)
            losses.append(loss)
            gradient = new if gradient is None else gradient.add_(new)
        assert gradient is not None
        for kept, noted in self._notes:
            kept.copy_(noted)
        if len(batches) > 1:
            gradient /= len(batches)
        self.world.mean_([gradient])
        self.gradient_norm = torch.linalg.vector_norm(gradient)
        if self.recipe.clip:
            gradient *= torch.clamp(self.recipe.clip / (self.gradient_norm + 1e-6), max=1.0)
        self.optimiser.update(gradient, learning_rate_factor)
        return losses[0] if len(losses) == 1 else torch.stack(losses).mean()

    @torch.no_grad()
    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of one batch, in float32: that of the model as it is saved."""
        self.model.eval()
        return _cross_entropy(self.model(tokens), targets)

    def state_dict(self) -> dict[str, Tensor]:
        """Return all that is needed beside the model's own state to go on bit for bit."""
        return self.optimiser.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what `state_dict` returned."""
        for name, tensor in self.state_dict().items():
            tensor.copy_(state[name])

    def _loss_at(self, vector: Tensor, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of the model if its weights were `vector`."""
        weights = self.flat.named(vector.to(self.dtype))
        return _cross_entropy(functional_call(self._worker, weights, (tokens,)), targets)

    def _eager_gradient(self, vector: Tensor, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient, without a compiler: by autograd on the model that computes."""
        if self._rounded is not vector:
            self._rounded.copy_(vector)
        loss = _cross_entropy(self._worker(tokens), targets)
        found = torch.autograd.grad(loss, self._weights, allow_unused=True, materialize_grads=True)
        return loss.detach(), torch.cat([part.reshape(-1) for part in found]).float()


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    # Softmax and mean in float32: in bfloat16 the loss would move in steps of 0.8 %.
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())
