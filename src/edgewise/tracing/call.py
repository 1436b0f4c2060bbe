"""One call of attention while the model makes it: what every route offers, and what every listener is given."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from edgewise.graphs import Graph
from edgewise.records import Site
from edgewise.tracing.masks import Deferred, Edges, Mask, Memory, edges_of, last_seen
from edgewise.tracing.sites import Place

__all__ = ["Attention", "Listener", "Shown"]


class Shown(NamedTuple):
    """What a fused layer shows in place of its attention's output."""

    tensor: Tensor
    """(batch, query, channels)"""
    present: Tensor | None
    """(batch, query): True where there is a token; None for everywhere."""
    after: Callable[[Tensor, Tensor], Tensor]
    """What it would show of an output (batch, heads, rows, width) at these rows."""


@dataclass(eq=False)
class Attention:
    """What attention is about to compute with, as it sees it: after rotary, after the cache, before the scores.

    Tensors are the model's own: whoever listens must not write into them.
    """

    route: str
    """How the call was seen, and the backend under it: "transformers: sdpa"."""
    query: Tensor
    """(batch, heads, query, width)"""
    key: Tensor
    """(batch, groups, key, width)"""
    value: Tensor
    """(batch, groups, key, width of the values)"""
    scale: float
    masks: tuple[Mask, ...] = ()
    """Masks and biases as they were given: `edges` says what they mean."""
    soft_cap: float | None = None
    sinks: Tensor | None = None
    dropout: float = 0.0
    place: Place = field(default=Place(None, "", None, "self", None))
    memory: Memory = field(default_factory=Memory, repr=False)
    shown: list[Shown] = field(default_factory=list[Shown], repr=False)
    """Filled by the call itself, where all that the model shows of its output lies further on."""
    returned: list[Callable[[], Tensor]] = field(default_factory=list[Callable[[], Tensor]], repr=False)
    """Filled by the call itself, where the model is given weights beside the output: (batch, heads, query, key), which
    whoever changes them puts others in the place of."""
    pending: list[Any] = field(default_factory=list[Any], repr=False)
    """What listeners that were asked before will do to this call, once it has run."""
    note: str = ""
    """What a listener did to the call, where it changed it: the output is then not what these inputs give."""

    def __post_init__(self) -> None:
        groups = max(self.key.shape[1], self.value.shape[1])  # torch lets keys and values differ in it
        self.key, self.value = _grouped(self.key, groups), _grouped(self.value, groups)

    @property
    def site(self) -> Site:
        """The place in the model, and the sizes of its heads."""
        _, heads, _, width = self.query.shape
        return Site(self.place.name, self.place.layer, self.place.kind, heads, self.key.shape[1], width)

    @property
    def edges(self) -> Edges:
        """The edges that the masks leave, named where they have a name, and the bias."""
        return edges_of(self.masks, self.query.shape[2], self.key.shape[2], self.memory)

    @property
    def cached(self) -> int:
        """Keys that were there before this call."""
        return max(0, self.key.shape[2] - self.query.shape[2]) if self.place.kind == "self" else 0

    @property
    def rows(self) -> int:
        """Where the first query stands."""
        return max(self.cached, self.place.position or 0)

    def at(self, place: Place, memory: Memory) -> "Attention":
        """The same call as it is seen from one model."""
        return replace(self, place=place, memory=memory)

    def trimmed(self) -> "Attention":
        """The call without the keys at its end that no query may read: the empty places of a fixed cache."""
        query, key = self.query.shape[2], self.key.shape[2]
        if key <= query or self.place.kind != "self":
            return self
        seen = max(query, last_seen(self.masks, query, key, self.memory))
        if seen == key:
            return self
        masks = tuple(_first_keys(one, seen) for one in self.masks)
        return replace(self, key=self.key[:, :, :seen], value=self.value[:, :, :seen], masks=masks)

    def arguments(self) -> dict[str, Any]:
        """The call in the words of `edgewise.attention.attend` and `reference`."""
        edges = self.edges
        return {
            "query": self.query,
            "key": self.key,
            "value": self.value,
            "graph": edges.allowed,
            "scale": self.scale,
            "bias": edges.bias,
            "soft_cap": self.soft_cap,
            "sinks": self.sinks,
            "dropout": self.dropout,
        }


def _grouped(tensor: Tensor, groups: int) -> Tensor:
    have = tensor.shape[1]
    return tensor if have == groups or not have else tensor.repeat_interleave(groups // have, 1)


def _first_keys(mask: Mask, keys: int) -> Mask:
    if isinstance(mask, Deferred):
        return Deferred((*mask.of, keys), lambda: mask.make()[..., :keys])
    return mask if isinstance(mask, Graph) else mask[..., :keys]


class Listener(Protocol):
    """Whoever is told of each call: it may run the call, look, and return that output untouched, or another one."""

    def __call__(self, attention: Attention, original: Callable[[], Tensor]) -> Tensor:
        """What the model gets as output, (batch, heads, query, width of the values).

        Args:
            attention: the call.
            original: computes it as the model would have; run at most once.
        """
        ...
