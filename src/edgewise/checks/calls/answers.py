"""What a target answered, read from whatever it returned into one layout."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from edgewise.checks.calls.arguments import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.results import at, axes_of, finite, is_weights, leaves, shaped, weights_in
from edgewise.checks.calls.subject import WHOLE, Path, Subject

__all__ = ["Answer", "described", "place_of", "read"]


@dataclass(eq=False)
class Answer:
    """What a target answered."""

    out: Tensor
    """(batch, query, channels), or of a function (batch, heads, query, width)."""
    weights: Tensor | None = None
    """(batch, heads, query, key) of the last layer; of a cached route, rows of all calls, zero where no key was yet."""
    layers: tuple[Tensor, ...] = ()
    """The weights of every layer."""
    cache: Any = None
    mutated: tuple[str, ...] = ()
    """Arguments that the target wrote into."""
    seconds: float = 0.0
    result: Any = None
    """What the target returned, of a cached route by the last call."""

    @property
    def finite(self) -> bool:
        """Whether all of it are numbers."""
        return finite(self.out, self.weights)


def read(subject: Subject, given: Given, result: Any, mutated: tuple[str, ...] = (), seen: int | None = None) -> Answer:
    """What is in what a target returned, of which the weights are over `seen` tokens so far; None for all that it read.

    Raises:
        Refused: there is nothing for each token in it.
    """
    found = place_of(subject, given, result)
    if found is None:
        raise Refused(f"it returns nothing for each token: {described(result)}")
    path, axes = found
    out = _arranged(subject, at(result, path), axes)
    if axes == WHOLE:
        out = out.expand(-1, given.length, -1)  # what is answered for all tokens is answered for each
    keys = {
        seen or out.shape[-2],
        *(one.shape[place] for one, place in ((given.key, 2), (given.memory, 1)) if one is not None),
    }
    layers = _layers(subject, given.batch, out.shape[-2], keys, result, path)
    return Answer(out, layers[-1] if layers else None, layers, mutated=mutated, result=result)


def place_of(subject: Subject, given: Given, result: Any) -> tuple[Path, str] | None:
    """Where the numbers of each token are, which may be elsewhere where weights are returned beside them."""
    counted_out = subject.reads in ("pixels", "features")
    first = "query" if subject.layout == "time first" else "batch"
    if subject.output is not None:
        out = at(result, subject.output)
        if isinstance(out, Tensor) and _fits(subject, given, out):
            return subject.output, subject.output_axes
    if subject.pooled:
        return None
    if subject.reads == "qkv":
        return next(((path, "") for path, leaf in leaves(result, 2) if _fits(subject, given, leaf)), None)
    return axes_of(result, given.batch, None if counted_out else given.length, first)


def _fits(subject: Subject, given: Given, out: Tensor) -> bool:
    """Whether a tensor has a place for each token."""
    if subject.reads == "qkv":
        place = {"heads third": 1, "no heads": 1}.get(subject.layout, 2)
        dims = 3 if subject.layout == "no heads" else 4
        return out.dim() == dims and out.shape[0] == given.batch and out.shape[place] == given.length
    if subject.reads in ("pixels", "features"):
        return out.dim() == len(subject.output_axes.split()) and given.batch in out.shape[:2]
    if subject.pooled:
        return out.dim() >= 2 and out.shape[0] == given.batch
    axes = subject.output_axes.split()
    return out.dim() == len(axes) and all(
        out.shape[place] == want
        for place, name in enumerate(axes)
        if (want := {"batch": given.batch, "query": given.length}.get(name)) is not None
    )


def _arranged(subject: Subject, out: Tensor, axes: str) -> Tensor:
    """As (batch, query, channels), or of a function (batch, heads, query, width)."""
    if subject.reads == "qkv":
        return out.transpose(1, 2) if subject.layout == "heads third" else out[:, None] if out.dim() == 3 else out
    if axes == WHOLE:
        return out.flatten(1)[:, None]
    if axes == "query batch channels":
        return out.transpose(0, 1)
    if axes == "batch channels height width":
        return out.flatten(2).transpose(1, 2)
    if axes == "batch heads query width":
        return out.transpose(1, 2).flatten(2)
    if axes == "batch query heads width":
        return out.flatten(2)
    return out[..., None] if axes == "batch query" else out


def _layers(subject: Subject, batch: int, query: int, keys: set[int], result: Any, output: Path) -> tuple[Tensor, ...]:
    """The weights of each layer, where what was returned ends in (query, key)."""
    found = None if subject.weights_at is None else at(result, subject.weights_at)
    if not isinstance(found, Tensor | tuple | list) and subject.weights is not None and subject.library == "":
        paths = (weights_in(result, output, batch, query, key) for key in keys)
        path = next((one for one in paths if one is not None), None)
        found = None if path is None else at(result, path)
    several = found if isinstance(found, tuple | list) else (found,)
    return tuple(
        shaped(one, batch)
        for one in several
        if isinstance(one, Tensor) and is_weights(one, batch, query) and one.shape[-1] in keys
    )


def described(result: Any) -> str:
    """What was returned, in a few words."""
    if isinstance(result, Tensor):
        return f"a tensor {tuple(result.shape)}"
    if isinstance(result, tuple | list):
        return f"{type(result).__name__} of {', '.join(type(one).__name__ for one in result) or 'nothing'}"
    return type(result).__name__
