"""What a name stands for: a model, and what turns texts, pictures and sounds into its inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Reader", "Target"]


class Reader(Protocol):
    """What turns a text into the tokens that a model reads."""

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, as the model wants them at its beginning."""
        ...

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The text of each token."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """A model that was named."""

    name: str
    """As the user named it."""
    model: Any
    """A module in evaluation mode, or a function."""
    reader: Reader | None = None
    """What reads texts for it; None where none was found with it."""
    processor: "Processor | None" = None
    """What prepares pictures and sounds for it."""
    inputs: Any = None
    """What it is given where nobody says: named arguments as a mapping, several as a tuple, or one."""
    reads: str = ""
    """What that is, in words."""
    write: "Callable[[Any, int], tuple[Any, Any]] | None" = None
    """Goes on from inputs by so many tokens, and returns all tokens and the logits; None for the model's own way."""


class Processor(Protocol):
    """What turns pictures and sounds into the inputs of a model."""

    def image(self, path: str, text: str | None) -> dict[str, Any]:
        """The inputs for a picture, and a text about it where there is one."""
        ...

    def audio(self, path: str, text: str | None) -> dict[str, Any]:
        """The inputs for a sound, and a text about it where there is one."""
        ...
