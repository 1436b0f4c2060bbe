"""What is known of a tensor that may be part of an attention: which product its numbers come from, and what was done.

Nothing is worked out here. Steps are written down as they happen, at the cost of a tuple each; what they mean is asked
once, when weights meet values (`meaning`).
"""

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from torch import Tensor

from edgewise.tracing.routes.written.layout import Axes, Layout

__all__ = ["Meeting", "Noise", "Number", "Operand", "Product", "Step", "Total", "Trail", "version"]

Number = float | int | Tensor

Kind = Literal["scores", "exp", "log weights", "weights"]

Verb = Literal["times", "plus", "fill", "keep", "tanh", "sink", "exp", "share", "softmax", "dropout", "log"]


@dataclass(frozen=True, eq=False)
class Operand:
    """A tensor as it was when it was used, with what was known of it."""

    tensor: Tensor
    factor: float = 1.0
    """It was multiplied by this number before."""
    split: tuple[int, int] | None = None
    """The batch and the heads that its first axis was folded from."""
    written: int = 0


@dataclass(eq=False)
class Product:
    """A product of two tensors, (batch, row, width) and (batch, width, column), whose cells may become scores."""

    left: Operand
    right: Operand
    batch: int
    rows: int
    columns: int
    seen: list[Axes] = field(default_factory=list[Axes])
    """The axes with which its cells have been looked at."""


class Step(NamedTuple):
    """One thing that was done to all cells."""

    verb: Verb
    axes: Axes
    """Of the tensor that it was done to."""
    by: Number | None = None
    """The other operand."""
    number: float = 1.0
    """What the other operand is multiplied with; the number filled in; the axis; the share that is dropped."""
    written: int = 0
    """How often the other operand had been written to."""


@dataclass(frozen=True, eq=False)
class Trail:
    """A product's cells, and what has been done to them since."""

    product: Product
    steps: tuple[Step, ...] = ()
    kind: Kind = "scores"
    lost: str = ""
    """Why it is no longer known what the numbers are."""

    def then(self, step: Step, kind: Kind | None = None) -> "Trail":
        """The trail one step further."""
        return replace(self, steps=(*self.steps, step), kind=kind or self.kind)

    def losing(self, why: str, kind: Kind | None = None) -> "Trail":
        """The trail where it is lost: the product is let go."""
        return replace(self, steps=(), lost=self.lost or why, kind=kind or self.kind)


class Total(NamedTuple):
    """The sum of each row of a trail's numbers, or the logarithm of the sum of their exponentials."""

    of: Trail
    axis: int
    logarithm: bool


class Noise(NamedTuple):
    """Zeros and ones that were drawn, whatever they have been divided by since."""

    kept: float
    """The share of ones."""


class Meeting(NamedTuple):
    """Weights have been multiplied with values."""

    trail: Trail
    weights: Tensor
    axes: Axes | None
    """Of the weights, (batch, row, column) or the columns first."""
    value: Tensor
    turned: bool
    """The values came first: (batch, width, key) times (batch, key, query)."""
    out: Tensor


class Seen(NamedTuple):
    """What is known of a storage."""

    what: Trail | Operand | Noise | Total
    layout: Layout | None


def version(tensor: Tensor) -> int:
    """How often a tensor has been written to; a tensor of inference does not count."""
    return 0 if tensor.is_inference() else tensor._version
