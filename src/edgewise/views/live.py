"""What a page can do beyond drawing a record, where the model itself is at hand: asked for here, given by others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgewise.records import Record

__all__ = ["LINES", "NONE", "Can", "Live", "Output", "Seen", "Switch", "Trained"]

LINES = ("scores=zeros", "mask=none", "scale=1", "out=zeros", "out=mean")
"""The lines of attention that a switch can replace."""


@dataclass(frozen=True)
class Switch:
    """One line of attention replaced in some heads of a site."""

    site: str
    line: str
    """One of `LINES`."""
    heads: tuple[int, ...] | None = None
    """None for all."""


@dataclass(frozen=True)
class Output:
    """What a model said at the end of a text."""

    next: tuple[tuple[str, float], ...]
    """Its likeliest next tokens, each with its probability."""
    loss: float | None = None
    """Mean over the text of −log(probability of the token that came), in nats; None where nothing came."""


@dataclass(frozen=True, eq=False)
class Seen:
    """One run of a model, and what it said."""

    record: Record
    output: Output | None = None
    reading: Any = None
    """What it read, for the live model to run it again; nobody else looks into it."""


@dataclass(frozen=True)
class Can:
    """What is available: "" where it is, else why not, in words."""

    swap: str = ""
    text: str = ""
    generate: str = ""
    train: str = ""
    product: str = ""


NONE = Can(
    *["this is a record without its model: open the model itself to change it"] * 3,
    train="nothing can be trained from here: run edgewise view and train from the page that it opens",
    product="this is a record without its weights",
)


@dataclass(frozen=True, eq=False)
class Trained:
    """How a training run that was started from the page stands."""

    step: int
    steps: int
    loss: float
    validation: float | None = None
    sample: str = ""
    seen: Seen | None = None
    """Its attention on a line of its text, now and then."""
    text: str = ""
    """What it learns from, by name."""


class Live(Protocol):
    """A model that can be run again. Calls come one at a time; each looks at `stop` and raises where it is set."""

    can: Can

    def swapped(self, seen: Seen, switches: Sequence[Switch], stop: Callable[[], bool]) -> Seen:
        """Run what a run has read with lines of attention replaced; no switches: as it is."""
        ...

    def read(self, text: str, generate: int, stop: Callable[[], bool]) -> Seen:
        """Run another text, and go on from it by so many tokens."""
        ...

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung of the ladder, told of as it goes."""
        ...

    def product(self, seen: Seen, site: str, head: int) -> NDArray[np.float32]:
        """W_q W_kᵀ of a head, (channels, channels)."""
        ...
