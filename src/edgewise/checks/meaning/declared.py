"""What the attention was meant to be, as far as somebody says so; the rest is read from the config or inferred."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgewise.errors import ArgumentError
from edgewise.graphs import Graph

__all__ = ["Declared"]


@dataclass(frozen=True)
class Declared:
    """The intent. None means that nobody said; what is then assumed is told in the report."""

    graph: Graph | None = None
    """Who may read whom in one call of attention over a whole sequence."""
    window_counts_self: bool = True
    """Whether the n keys of window(n) count the query's own; if not, one more is visible."""
    scale: float | None = None
    """What scores are multiplied by; None for 1/√width."""
    pads_attended: bool = False
    """Whether padding is read by design."""
    sinks: bool = False
    """Whether weights may sum to less than one by design."""
    positions: bool | None = None
    """Whether the order of tokens matters by design."""
    pad: int | None = None
    """The id of padding."""
    allowed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Properties that are known to fail and are not counted, each with the reason."""

    def __post_init__(self) -> None:
        if self.scale is not None and not 0 < self.scale < float("inf"):
            raise ArgumentError(f"scale is what scores are multiplied by, a number above 0; got {self.scale}")
        for name, why in self.allowed.items():
            if not why.strip():
                raise ArgumentError(f"allowing {name} needs a reason; got none: say why it is known and accepted")
