"""All weights of a model as one vector, of which the model's parameters become views.

What a step does to every weight alike (convert, clip, average over processes, update) is then one operation on one
vector, however many parameters there are. Matrices that hidden layers multiply with come first, then the other weights
of two or more axes (embeddings, the matrix that predicts), then single rows (gains, biases).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["Flat", "Part"]


class Part(NamedTuple):
    """Where one parameter lies in the vector."""

    name: str
    start: int
    shape: torch.Size

    @property
    def stop(self) -> int:
        """Where the next one begins."""
        return self.start + self.shape.numel()


class Flat:
    """The trainable parameters of `model`, moved into one float32 vector; a tied parameter is there once.

    Attributes:
        vector: the weights. Changing them changes the model, and the other way round.
        hidden, tables, rows: which parameters are of which kind, in the order of the vector.
    """

    def __init__(self, model: nn.Module) -> None:
        named = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        inside = _hidden(model)
        hidden = [name for name in named if name in inside]
        tables = [name for name, weight in named.items() if name not in inside and weight.dim() > 1]
        rows = [name for name, weight in named.items() if weight.dim() <= 1]
        self.parts: list[Part] = []
        self.hidden, self.tables, self.rows = (
            self._append({name: named[name] for name in names}) for names in (hidden, tables, rows)
        )
        self.vector = torch.cat([named[part.name].detach().reshape(-1).float() for part in self.parts])
        self.attach(model, self.vector)

    def attach(self, model: nn.Module, vector: Tensor) -> list[nn.Parameter]:
        """Make the parameters of our model, or of a copy of it, views of a vector, and return them in its order."""
        named = dict(model.named_parameters())
        for name, view in self.named(vector).items():
            named[name].data = view
        return [named[part.name] for part in self.parts]

    def named(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the parts of a vector as long as ours under the names and in the shapes of the parameters."""
        pieces = vector.split([part.shape.numel() for part in self.parts])
        return {part.name: piece.view(part.shape) for part, piece in zip(self.parts, pieces, strict=True)}

    def _append(self, named: dict[str, nn.Parameter]) -> list[Part]:
        begun = len(self.parts)
        for name, weight in named.items():
            self.parts.append(Part(name, self.parts[-1].stop if self.parts else 0, weight.shape))
        return self.parts[begun:]


def _hidden(model: nn.Module) -> set[str]:
    """Return the names of the matrices that stand between the embeddings and the logits."""
    # The ladder calls the layer that makes logits `predict`; where it has no name, it is the tied embedding.
    return {
        f"{name}.weight"
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.split(".")[-1] != "predict"
    }
