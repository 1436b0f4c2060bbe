"""What is known of a tensor that may be part of an attention: which product its numbers come from, and what was done.

Nothing is worked out here. Steps are written down as they happen, at the cost of a tuple each; what they mean is asked
once, when weights meet values (`meaning`).
"""

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from torch import Tensor

from edgewise.tracing.routes.written.layout import Axes, Layout

__all__ = ["Meeting", "Noise", "Number", "Operand", "Origin", "Product", "Seen", "Step", "Total", "Trail", "version"]

Number = float | int | Tensor

Kind = Literal["scores", "exp", "log weights", "weights"]

Verb = Literal["times", "plus", "fill", "tanh", "sink", "exp", "share", "softmax", "dropout"]


class Origin(NamedTuple):
    """What is known of a tensor that is no score, and may become a query or a key."""

    factor: float = 1.0
    """It was multiplied by this number."""
    split: tuple[int, int] | None = None
    """The batch and the heads that an axis of it was folded from."""
    learned: bool = False
    """It is a parameter, in whatever dtype."""


class Operand(NamedTuple):
    """A tensor that was multiplied."""

    tensor: Tensor
    origin: Origin
    written: int
    """How often it had been written to."""


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

    @property
    def axes(self) -> Axes:
        """The axes of the product itself."""
        return Axes.of((self.batch, self.rows, self.columns), (self.rows * self.columns, self.columns, 1))


class Step(NamedTuple):
    """One thing that was done to all cells."""

    verb: Verb
    axes: Axes
    """Of the tensor that it was done to."""
    by: Number | None = None
    """The other operand; where to fill."""
    number: float = 1.0
    """The power of the factor, the sign of the summand, the axis, the share that is dropped."""
    value: Number = 0.0
    """What is filled in."""
    written: int = 0
    """How often the other operand had been written to."""


@dataclass(frozen=True, eq=False)
class Trail:
    """A product's cells, and what has been done to them since."""

    product: Product | None
    """None where the trail is lost."""
    steps: tuple[Step, ...] = ()
    kind: Kind = "scores"
    lost: str = ""
    """Why it is no longer known what the numbers are."""

    def then(self, step: Step, kind: Kind | None = None) -> "Trail":
        """The trail one step further."""
        return replace(self, steps=(*self.steps, step), kind=kind or self.kind)

    def losing(self, why: str, kind: Kind | None = None) -> "Trail":
        """The trail where it is lost: what it was made of is let go."""
        return Trail(None, (), kind or self.kind, self.lost or why)


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
    axes: Axes | None
    """Of the weights: (batch, query, key); (batch, key, query) where the values came first."""
    value: Tensor
    """(batch, key, width); (batch, width, key) where they came first. The batch may be left out, and axes of one."""
    turned: bool
    """The values came first."""
    sizes: tuple[int, int, int]
    """Of the product, (batch, row, column)."""
    out: Tensor
    """The product."""


class Seen(NamedTuple):
    """What is known of a storage."""

    what: Trail | Origin | Noise | Total
    layout: Layout | None = None


def version(tensor: Tensor) -> int:
    """How often a tensor has been written to; one made in inference mode does not count."""
    return 0 if tensor.is_inference() else tensor._version
