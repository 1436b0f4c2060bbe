"""A captured call: tensors held as the model made them until somebody wants a record of it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from edgewise.errors import TraceError
from edgewise.graphs import Graph
from edgewise.records import Array, Call, Kept, Site
from edgewise.tracing.call import Attention
from edgewise.tracing.choice import Choice
from edgewise.tracing.verify import Checked

__all__ = ["Captured", "RewrittenError", "captured", "copied", "own"]


class RewrittenError(TraceError):
    """The model has written into a tensor that attention had used; copies would have been safe."""


@dataclass(frozen=True, eq=False)
class Captured:
    """One call; tensors are the model's own, detached, and hold only the kept heads and rows."""

    site: Site
    index: int
    route: str
    query: Tensor
    key: Tensor
    value: Tensor
    out: Tensor
    scale: float
    allowed: Graph | Tensor
    bias: Tensor | None
    soft_cap: float | None
    sinks: Tensor | None
    dropout: float
    cached: int
    first: int
    dtype: torch.dtype
    kept: Kept
    checked: Checked
    versions: tuple[int | None, ...] = ()
    """How often each of query, key, value and out had been written to; None for a copy, which nobody else has."""

    @property
    def graph(self) -> Graph | None:
        """The edges, where they have a name."""
        return self.allowed if isinstance(self.allowed, Graph) else None

    @property
    def hidden(self) -> float:
        """What stands where there is no edge: −∞, or the number that the model adds there; see `Edges`."""
        return self.checked.hidden

    @property
    def residual(self) -> float:
        """Largest difference between the output and the same computed again; NaN where nobody looked."""
        return self.checked.residual

    def call(self) -> Call:
        """The call as a value that crosses rooms.

        Raises:
            RewrittenError: the model has written into a captured tensor since.
        """
        for name, tensor, version in zip(("query", "key", "value", "out"), self._tensors, self.versions, strict=True):
            if version is not None and _version(tensor) != version:
                raise RewrittenError(
                    f"{self.site.name}: {name} of call {self.index} was changed in place after attention had used it, "
                    "so that what is held is no longer what was seen; trace with copy=True"
                )
        return Call(
            self.site,
            self.index,
            self.route,
            _array(self.query),
            _array(self.key),
            _array(self.value),
            _array(self.out),
            self.scale,
            graph=self.graph,
            allowed=None if isinstance(self.allowed, Graph) else _array(self.allowed),
            bias=None if self.bias is None else _array(self.bias),
            soft_cap=self.soft_cap,
            sinks=None if self.sinks is None else _array(self.sinks),
            dropout=self.dropout,
            cached=self.cached,
            dtype=str(self.dtype).removeprefix("torch."),
            residual=self.checked.residual,
            note=self.checked.note,
            hidden=self.checked.hidden,
            first=self.first,
            kept=self.kept,
        )

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return self.query, self.key, self.value, self.out


def captured(attention: Attention, out: Tensor, index: int, kept: Kept, choice: Choice, checked: Checked) -> Captured:
    """What is kept of a call that has been made."""
    site, edges = attention.site, attention.edges
    bias = None if edges.bias is None else choice.part(edges.bias, kept, site, "queries")
    sinks = attention.sinks
    if sinks is not None and kept.heads is not None:
        sinks = sinks[list(kept.heads)]
    tensors = (
        choice.part(attention.query, kept, site, "queries"),
        choice.part(attention.key, kept, site, "keys"),
        choice.part(attention.value, kept, site, "keys"),
        choice.part(out, kept, site, "queries"),
    )
    allowed = edges.allowed
    return Captured(
        *(site, index, attention.route, *tensors, attention.scale),
        allowed=allowed if isinstance(allowed, Graph) else choice.part(allowed, kept, site, "queries"),
        bias=bias,
        soft_cap=attention.soft_cap,
        sinks=None if sinks is None else sinks.detach(),
        dropout=attention.dropout,
        cached=attention.cached,
        first=attention.rows,
        dtype=attention.query.dtype,
        kept=kept,
        checked=checked,
        versions=tuple(map(_version, tensors)),
    )


def own(one: Captured, key: Tensor, value: Tensor) -> Captured:
    """The same call with keys and values that are nobody else's."""
    query, _, _, out = one.versions
    return replace(one, key=key, value=value, versions=(query, None, None, out))


def copied(one: Captured) -> Captured:
    """The same call with copies of its tensors."""
    query, key, value, out = (tensor.clone() for tensor in one._tensors)
    return replace(one, query=query, key=key, value=value, out=out, versions=(None,) * 4)


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _array(tensor: Tensor) -> Array:
    held = tensor.detach().cpu()
    if held.dtype == torch.bfloat16:
        return Array.of(held.view(torch.uint16).numpy(), "bfloat16")
    return Array.of(held.numpy())
