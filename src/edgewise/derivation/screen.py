"""Where a derivation is shown while it goes on: what takes the text, what watches the training, how text is written."""

from collections.abc import Callable
from dataclasses import dataclass, field

from edgewise.derivation.ink import Ink

__all__ = ["Screen", "Watch", "unwatched"]

Watch = Callable[[str, int, int], object]
"""Told what is trained, the steps done and the steps in all."""


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
