"""Where a derivation is shown while it goes on: what takes the text, what watches the training, how text is written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from edgewise.derivation.ink import Ink

__all__ = ["Screen", "Watch", "unwatched"]


class Watch(Protocol):
    """Is told of every step: what is trained, the steps done, the steps in all."""

    def __call__(self, what: str, done: int, steps: int, /) -> object:
        """Hear of a step."""
        ...


def unwatched(what: str, done: int, steps: int) -> None:
    """Watch nothing."""


def unshown(text: str) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Screen:
    """Shows nothing unless told how."""

    show: Callable[[str], object] = unshown
    watch: Watch = unwatched
    ink: Ink = field(default_factory=Ink)
