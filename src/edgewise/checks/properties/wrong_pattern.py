"""wrong-pattern: windows, prefixes, chunks and what they are joined by are as long, and lie, as was meant."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.examples.layer import Layer, attended
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import observed, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "C1": "a window is off by one",
    "C2": "a window is ignored, or has lost a side",
    "C3": "masks are joined by the wrong operator",
    "C4": "the boundary of a prefix, group, chunk or block is off",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which the pattern is another."""
    routes = taken(lab)
    graphs = {repr(one) for one in _graphs(lab)}
    if graphs <= {"causal()", "full()"} and lab.subject.mask is None and not lab.where(packed=True):
        raise Skip(f"there is no pattern to be wrong: {', '.join(sorted(graphs))} is all that is meant")
    yield from observed(lab, "wrong-pattern", tuple(KINDS), routes)


def _graphs(lab: "Lab") -> Iterator[object]:
    yield lab.expected().graph
    for one in lab.calls(lab.plain):
        yield lab.expected(one).graph


class _Wide(Layer):
    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.projected(x)
        place = torch.arange(x.shape[1])
        distance = place[:, None] - place[None]
        return self.mixed(attended(query, key, value, (distance >= 0) & (distance <= 3)))


class _Right(Layer):
    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.projected(x)
        place = torch.arange(x.shape[1])
        distance = place[:, None] - place[None]
        return self.mixed(attended(query, key, value, (distance >= 0) & (distance < 3)))


PROPERTY = Property(
    name="wrong-pattern",
    says="Windows, prefixes, chunks and blocks have just the edges that were meant.",
    why=(
        "One key more or less per layer is another model than the one that was trained: ported weights lose quality "
        "without any error, and a window that is silently ignored costs the memory that it was there to save."
    ),
    assumes=(
        "A declared pattern, or one that the config names. window(n) is n keys with the query's own; declare "
        "window_counts_self=False where it is not counted. First keys that stay open (sinks) and a prefix that reads "
        "itself both ways are right where they are declared."
    ),
    kinds=KINDS,
    references=("huggingface/transformers#39408",),
    examine=examine,
    broken=lambda: Example(_Wide(), {"graph": "window(3)"}),
    right=lambda: Example(_Right(), {"graph": "window(3)"}),
)
