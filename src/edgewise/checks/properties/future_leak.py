"""future-leak: no output depends on a token that comes after it, where the graph hides the future."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.examples.layer import Layer, attended, causal
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import observed, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "A1": "the mask is missing or dropped on some route",
    "A2": "the triangle is a wrong one",
    "A3": "the future leaks through something that is not attention",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which later tokens are read."""
    expected = lab.expected()
    causal = expected.causal or any(lab.expected(route=one).causal for one in lab.routes)
    if not causal and bool(expected.cells.all()):
        raise Skip("everything may be read, later tokens too: nobody says that this is causal, and nothing shows it")
    yield from observed(lab, "future-leak", tuple(KINDS), taken(lab))


class _Leaking(Layer):
    def forward(self, x: Tensor, weights: bool = False) -> Tensor:
        query, key, value = self.projected(x)
        if not weights:
            return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))
        return self.mixed(attended(query, key, value))


class _Right(Layer):
    def forward(self, x: Tensor, weights: bool = False) -> Tensor:
        query, key, value = self.projected(x)
        if not weights:
            return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))
        return self.mixed(attended(query, key, value, causal(x.shape[1])))


PROPERTY = Property(
    name="future-leak",
    says="No output depends on a token that comes after it, on any route.",
    why=(
        "A language model that sees the token it should predict trains to a loss that is too good and then writes "
        "nonsense, or scores candidates by what follows them. The shapes are all legal and nothing raises."
    ),
    assumes=(
        "That the future is hidden by design: declared, said by the config, or seen on another route. A window that "
        "reaches ahead, the prefix of a prefix model and a two-way encoder are never held against a target."
    ),
    kinds=KINDS,
    references=(
        "huggingface/transformers#30652",
        "huggingface/transformers#48745",
        "keras-team/keras#23038",
        "pytorch/pytorch#99282",
    ),
    examine=examine,
    broken=lambda: Example(_Leaking(), {"graph": "causal()"}),
    right=lambda: Example(_Right(), {"graph": "causal()"}),
)
