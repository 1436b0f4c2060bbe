"""The size of a model: six numbers, checked where they are written down."""

from dataclasses import dataclass

from edgewise.errors import ArgumentError

__all__ = ["Size"]


@dataclass(frozen=True)
class Size:
    """What every rung is built from; a rung that has no use for a number ignores it.

    Args:
        vocabulary: distinct tokens; at least 1.
        block: longest sequence in tokens that a model with learned positions takes; at least 1.
        width: numbers per token in the model (its channels); at least 1 and a multiple of `heads`.
        heads: heads of each attention, from the rung `heads` on; at least 1.
        layers: blocks on top of each other, from the rung `blocks` on; at least 1.
        dropout: share of the numbers that the GPT drops while it trains; at least 0, below 1.

    Raises:
        ArgumentError: a number is outside its range.

    Example:
        >>> Size(vocabulary=65, width=32, heads=4)
        Size(vocabulary=65, block=8, width=32, heads=4, layers=1, dropout=0.0)
    """

    vocabulary: int
    block: int = 8
    width: int = 32
    heads: int = 1
    layers: int = 1
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("vocabulary", "block", "width", "heads", "layers"):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise ArgumentError(f"{name} must be a whole number, at least 1; got {number!r}")
        if self.width % self.heads:
            nearest = -(-self.width // self.heads) * self.heads
            raise ArgumentError(
                f"width must be a multiple of heads; got width={self.width} for heads={self.heads}; try width={nearest}"
            )
        if not 0 <= self.dropout < 1:
            raise ArgumentError(f"dropout must be at least 0 and below 1; got {self.dropout!r}")
