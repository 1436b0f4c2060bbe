"""What a loop tells those who watch it: a step done, an evaluation made, a sentence worth printing."""

from dataclasses import dataclass

from edgewise.training.checkpoint import Progress

__all__ = ["Evaluated", "History", "Stepped", "Watcher"]


@dataclass(frozen=True)
class Stepped:
    """One step that was done; `step` counts from 1, and `seconds` are those of the run so far."""

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    seconds: float


@dataclass(frozen=True)
class Evaluated:
    """The losses after `step` steps: over the validation windows, and the mean of the steps since the last time."""

    step: int
    validation_loss: float
    training_loss: float | None
    best: bool
    seconds: float


class Watcher:
    """Hears of everything and does nothing; those that do something replace what they care about."""

    def say(self, line: str) -> None:
        """Hear a sentence for people."""

    def preparing(self, what: str, done: float) -> None:
        """Hear how far a long preparation is, from 0 to 1."""

    def begun(self, progress: Progress, steps: int) -> None:
        """Hear that the loop begins or goes on, towards `steps`."""

    def stepped(self, stepped: Stepped) -> None:
        """Hear of a step."""

    def evaluated(self, evaluated: Evaluated) -> None:
        """Hear of an evaluation."""

    def ended(self) -> None:
        """Hear that the loop is over, finished or not."""


class History(Watcher):
    """Remembers the evaluations."""

    def __init__(self) -> None:
        self.evaluations: list[Evaluated] = []

    def evaluated(self, evaluated: Evaluated) -> None:
        """Remember an evaluation."""
        self.evaluations.append(evaluated)
