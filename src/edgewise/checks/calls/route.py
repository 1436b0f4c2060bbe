"""One way through a target's code: the choices of a caller that change which code runs."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Padding", "Route"]

Padding = Literal["none", "ones", "left", "right"]


@dataclass(frozen=True)
class Route:
    """The choices. What a target has no choice about stays at its default."""

    weights: bool | None = None
    """Whether weights are asked for; None where there is no asking."""
    mask: Padding = "none"
    """No padding mask, one that hides nothing, or padding on one side of all rows but the first."""
    batch: int = 2
    """Sequences at once."""
    cached: tuple[int, ...] = ()
    """Numbers of new tokens, call after call, with a cache between them; () for the whole sequence at once."""
    backend: str | None = None
    """Which attention implementation of the transformers library; None for the target's own."""
    dtype: str | None = None
    """What weights and inputs are turned into, "float32", "bfloat16" or "float16"; None for the target's own."""
    contiguous: bool = True
    """Whether inputs lie in memory in order."""
    training: bool = False
    """Whether the module is in training mode; dropout is then set to zero unless a property is about it."""
    packed: bool = False
    """Whether a row holds several documents, told by positions that restart, document ids or lengths."""
    places: bool = True
    """Whether positions are said along with a cache; else, where they may be left out, the target counts them."""
    switches: tuple[tuple[str, Any], ...] = ()
    """Further arguments that choose between ways, by name."""

    def __str__(self) -> str:
        words = [] if self.weights is None else [f"weights={'asked for' if self.weights else 'not asked for'}"]
        words += [f"{name}={value}" for name, value in self.switches]
        words += [f"mask={self.mask}", f"batch={self.batch}"]
        words += [f"cached={'+'.join(map(str, self.cached))}"] if self.cached else []
        words += [one for one in (self.backend, self.dtype) if one is not None]
        words += [] if self.places else ["positions left out"]
        words += ["strided"] * (not self.contiguous) + ["training"] * self.training + ["packed"] * self.packed
        return " · ".join(words)
