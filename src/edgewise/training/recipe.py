"""The recipe of a run: every number that decides what training does, and nothing about where or how fast.

Two runs with the same text, size and recipe are the same run.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from edgewise.errors import ArgumentError

__all__ = ["Recipe"]


Optimiser = Literal["muon", "adamw"]


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. One step is one update; it reads `batch * accumulate` windows of the text.

    Raises:
        ArgumentError: a number outside its range.

    Example:
        >>> recipe = Recipe(steps=100, warm_up=10, final=0.0)
        >>> [recipe.factor(step) for step in (0, 9, 55, 100)]
        [0.1, 1.0, 0.5, 0.0]
    """

    optimiser: Optimiser = "muon"
    learning_rate: float = 6e-3  # of AdamW
    matrix_rate: float = 0.04  # of Muon, for the matrices of hidden layers
    momentum: float = 0.9  # of Muon
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)
    clip: float = 1.0  # largest norm of the whole gradient; 0: as it comes
    steps: int = 1000
    warm_up: int = 20  # steps
    final: float = 0.0  # of the learning rate, at the last step
    batch: int = 24  # windows in one forward pass, over all processes
    accumulate: int = 1  # forward passes in one step
    seed: int = 0
    evaluate_every: int = 100  # steps
    evaluate_windows: int = 256  # of the validation split, the same at every evaluation

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "accumulate", "evaluate_every", "evaluate_windows", "warm_up", "seed"):
            _whole(name, getattr(self, name), 0 if name in ("warm_up", "seed") else 1)
        for name in ("weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ArgumentError(f"wanted {name} to be at least 0; got {getattr(self, name)}")
        for name in ("learning_rate", "matrix_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ArgumentError(f"wanted a {name} above 0; got {getattr(self, name)}")
        for name, part in (("momentum", self.momentum), ("betas", self.betas[0]), ("betas", self.betas[1])):
            if not 0 <= part < 1:
                raise ArgumentError(f"wanted {name} to be at least 0 and below 1; got {part}")
        if self.optimiser not in get_args(Optimiser):
            raise ArgumentError(f"optimiser must be {' or '.join(get_args(Optimiser))}; got {self.optimiser!r}")
        if not 0 <= self.final <= 1:
            raise ArgumentError(f"wanted final, a part of the learning rate, from 0 to 1; got {self.final}")

    def factor(self, step: int) -> float:
        """Return the learning rate at `step` (from 0) as a part of `learning_rate`: up in a line, down in a cosine."""
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        done = min(1.0, (step - self.warm_up) / max(1, self.steps - self.warm_up))
        return round(self.final + (1 - self.final) * 0.5 * (1 + math.cos(math.pi * done)), 12)

    def says(self, block: int) -> str:
        """Return the recipe in a line."""
        times = f" × {self.accumulate}" if self.accumulate > 1 else ""
        muon = f"muon at {self.matrix_rate:g} and " if self.optimiser == "muon" else ""
        return (
            f"{self.steps} steps of {self.batch}{times} windows of {block} tokens; {muon}adamw at "
            f"{self.learning_rate:g}, {self.warm_up} steps of warm-up, down to {self.final:g} of that; "
            f"seed {self.seed}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, described: dict[str, Any]) -> "Recipe":
        """Return the recipe that `to_json` described; a field of a later version is not known and is left out."""
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {name: value for name, value in described.items() if name in known}
        if "betas" in given:
            given["betas"] = tuple(given["betas"])
        return cls(**given)


def _whole(name: str, value: int, least: int) -> None:
    if type(value) is not int or not least <= value < 1 << 63:
        raise ArgumentError(f"wanted {name} to be a whole number, at least {least}; got {value!r}")
