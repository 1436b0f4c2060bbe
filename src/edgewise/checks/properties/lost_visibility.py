"""lost-visibility: every output depends on every token that it is meant to read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from edgewise.checks.finding import Observation
from edgewise.checks.properties.examples.layer import Layer
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import memory_hidden, observed, rectangles, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "B1": "more keys than queries, and the triangle is aligned at the wrong end",
    "B2": "the query's own key is hidden",
    "B3": "attention that was meant to read both ways, or a memory, is causal",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which tokens are not read that should be."""
    routes = taken(lab)
    yield from observed(lab, "lost-visibility", tuple(KINDS), routes)
    yield from memory_hidden(lab, "lost-visibility", routes)
    yield from rectangles(lab, "lost-visibility")


class _TopLeft(Layer):
    def step(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        query, key, value = self.projected(x)
        if cache:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.mixed(found), (key, value)


class _Right(Layer):
    def step(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        query, key, value = self.projected(x)
        if cache:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        new, there = query.shape[2], key.shape[2]
        keep = torch.ones(new, there, dtype=torch.bool).tril(there - new)
        return self.mixed(F.scaled_dot_product_attention(query, key, value, attn_mask=keep)), (key, value)


PROPERTY = Property(
    name="lost-visibility",
    says="Every output depends on every token that it is meant to read, on every route.",
    why=(
        "Text written with a cache is bad where text scored at once is good; an encoder sees half of what it was "
        "trained on; a translation forgets the end of its source. Losses go down all the same."
    ),
    assumes=(
        "Positions are aligned at the end: the last query sees the last key. With more queries than keys the first "
        "rows see nothing, which is right. Whether a token reads itself is held against a target only where the graph "
        "was declared or stands in the config. Tokens that are read in another input are chosen by what they hold, and "
        "a window of one head or layer beside others that read all of a declared causal() or full() is by design."
    ),
    kinds=KINDS,
    references=(
        "lucidrains/x-transformers#187",
        "pytorch/pytorch#110144",
        "Dao-AILab/flash-attention#1778",
    ),
    examine=examine,
    broken=lambda: Example(_TopLeft(), {"graph": "causal()"}),
    right=lambda: Example(_Right(), {"graph": "causal()"}),
)
