"""What the steps between two products amount to, as far as they have been put into words."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from edgewise.tracing.masks import HIDDEN, Deferred, Mask
from edgewise.tracing.routes.written.arrange import Arrangement
from edgewise.tracing.routes.written.trail import Number, Product, version

__all__ = ["Bias", "Fill", "Meaning"]


@dataclass
class Meaning:
    """What the steps amount to."""

    arrangement: Arrangement
    product: Product
    scale: float = 1.0
    soft_cap: float | None = None
    sinks: Tensor | None = None
    dropout: float = 0.0
    rows: list[Tensor] = field(default_factory=list[Tensor])
    """Factors of queries, (batch, heads, query, 1), each axis full or 1."""
    columns: list[Tensor] = field(default_factory=list[Tensor])
    """Factors of keys, (batch, heads, 1, key)."""
    values: list[Number] = field(default_factory=list[Number])
    """Factors of values: numbers, or (batch, heads, 1, key)."""
    biases: list["Bias"] = field(default_factory=list["Bias"])
    fills: list["Fill"] = field(default_factory=list["Fill"])
    zeroed: list[Tensor] = field(default_factory=list[Tensor])
    """Where scores were multiplied with 0 or 1: these must have no edge, where it was 0."""
    emptied: list[Tensor] = field(default_factory=list[Tensor])
    """Where weights were set to 0, or multiplied with it."""
    normalised: bool = False

    @property
    def masks(self) -> tuple[Mask, ...]:
        """The masks and biases, as a call takes them."""
        return tuple(one.mask() for one in (*self.biases, *self.fills))


@dataclass
class Bias:
    """Something added to the scores: finite numbers, or an edge taken away."""

    tensor: Tensor
    factor: float = 1.0
    power: list[Tensor] = field(default_factory=list[Tensor])
    """What it was multiplied with since."""
    empties: bool = False
    """A query that it leaves without any key takes home zeros."""

    def mask(self) -> Mask:
        """It as a call takes it."""
        if self.factor == 1 and not self.power and not self.empties:
            return self.tensor
        of = (self.tensor, version(self.tensor), hash(self.factor), *self.power)
        return Deferred(of, self.now)

    def now(self) -> Tensor:
        """The numbers that are added."""
        found = self.tensor.float() * self.factor
        for one in self.power:
            found = found * one
        return found.masked_fill(found <= HIDDEN, -torch.inf) if self.empties else found


@dataclass
class Fill:
    """Scores replaced by a number that says that there is no edge."""

    where: Tensor
    """True where an edge is taken away; False there, where `inverse`."""
    inverse: bool
    value: float
    empties: bool = False

    def mask(self) -> Mask:
        """It as a call takes it."""
        if self.inverse and (self.empties or self.value == -torch.inf):
            return self.where
        number = int(self.value > -torch.inf and not self.empties)
        return Deferred((self.where, version(self.where), int(self.inverse), number), self.now)

    def hidden(self) -> Tensor:
        """True where an edge is taken away."""
        return ~self.where if self.inverse else self.where

    def now(self) -> Tensor:
        """The edges that are left, or numbers that take the others away."""
        if self.empties or self.value == -torch.inf:
            return ~self.hidden()
        # A query of which all keys are hidden sees them alike, whatever its scores were.
        lowest = torch.finfo(torch.float32).min
        return torch.zeros(self.where.shape, device=self.where.device).masked_fill_(self.hidden(), lowest)
