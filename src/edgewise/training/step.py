"""One step of training: forward, backward and update."""

from typing import Literal

import torch
from torch import Tensor, nn

from edgewise.training.distributed import World
from edgewise.training.recipe import Recipe

__all__ = ["Step"]


class Step:
    """AdamW in float32."""

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
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.first = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.second = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.count = 0
        self.gradient_norm = torch.zeros(())

    def __call__(self, batches: list[tuple[Tensor, Tensor]], learning_rate_factor: float) -> Tensor:
        """Return the mean loss of `batches` after one update from their mean gradient."""
        self.model.train()
        total = torch.zeros(())
        for tokens, targets in batches:
            loss = self._forward(tokens, targets) / len(batches)
            loss.backward()
            total = total + loss.detach()
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        self.world.mean_(gradients)
        self.gradient_norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
        if self.recipe.clip:
            scale = torch.clamp(self.recipe.clip / (self.gradient_norm + 1e-6), max=1.0)
            for gradient in gradients:
                gradient *= scale
        self._update(self.recipe.learning_rate * learning_rate_factor)
        return total

    @torch.no_grad()
    def _update(self, rate: float) -> None:
        self.count += 1
        one, two = self.recipe.betas
        for parameter, first, second in zip(self.parameters, self.first, self.second, strict=True):
            if parameter.grad is None:
                continue
            first.lerp_(parameter.grad, 1 - one)
            second.mul_(two).addcmul_(parameter.grad, parameter.grad, value=1 - two)
            if parameter.ndim > 1:
                parameter.mul_(1 - rate * self.recipe.weight_decay)
            scale = (second / (1 - two**self.count)).sqrt_().add_(1e-8)
            parameter.addcdiv_(first, scale, value=-rate / (1 - one**self.count))
            parameter.grad = None

    @torch.no_grad()
    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of one batch."""
        self.model.eval()
        return self._forward(tokens, targets)

    def _forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        logits = self.model(tokens)
        return nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())

    def state_dict(self) -> dict[str, Tensor]:
        """Return all that is needed beside the model's own state to go on bit for bit."""
        pairs = zip(self.first, self.second, strict=True)
        state = {
            f"{place}.{name}": tensor
            for place, pair in enumerate(pairs)
            for name, tensor in zip("ms", pair, strict=True)
        }
        return state | {"count": torch.tensor(self.count)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what `state_dict` returned."""
        self.count = int(state["count"].item())
        for place, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            first.copy_(state[f"{place}.m"])
            second.copy_(state[f"{place}.s"])
