"""mask-meaning: what a mask says is what attention understands: polarity, sign, size, dtype."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.examples.layer import Layer
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import observed, overflowing, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "G1": "True is read the other way round, or a sign is wrong",
    "G2": "the number that should hide is too weak",
    "G3": "the number that should hide overflows, or is lost in a cast",
    "G4": "a mask of 0 and 1 is added as numbers",
    "G5": "the fill is computed and thrown away",
    "G6": "the mask is scaled with the scores",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which a mask means something else than was meant."""
    routes = taken(lab)
    if not _masks(lab):
        raise Skip("nothing is hidden: everything may be read, and no mask is taken")
    yield from observed(lab, "mask-meaning", tuple(KINDS), routes)
    yield from overflowing(lab, "mask-meaning")


def _masks(lab: "Lab") -> bool:
    subject = lab.subject
    taken = (subject.mask, subject.square_mask, subject.documents, subject.memory_mask, subject.causal_flag)
    return any(one is not None for one in taken) or bool((~lab.expected().cells).any())


class _Upside(Layer):
    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.projected(x)
        hide = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        return self.mixed(F.scaled_dot_product_attention(query, key, value, attn_mask=hide))


class _Right(Layer):
    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.projected(x)
        hide = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        return self.mixed(F.scaled_dot_product_attention(query, key, value, attn_mask=~hide))


PROPERTY = Property(
    name="mask-meaning",
    says="What a mask hides is hidden, and what it keeps is kept, in every dtype.",
    why=(
        "Libraries disagree on whether True hides or keeps. A mask read the other way round, added as 0 and 1, filled "
        "with a number that large scores outweigh, or computed and not assigned hides nothing or the wrong half, and "
        "the model trains on."
    ),
    assumes=(
        "Weakness is measured with scores as large as 30 to 1000 times the usual ones. A number of −10⁵ or less, or "
        "−∞, is strong enough; what a row shows that may read nothing at all is not this property's."
    ),
    kinds=KINDS,
    references=(
        "rasbt/LLMs-from-scratch#1062",
        "lucidrains/x-transformers#160",
        "tensorflow/text#894",
    ),
    examine=examine,
    broken=lambda: Example(_Upside(), {"graph": "causal()"}),
    right=lambda: Example(_Right(), {"graph": "causal()"}),
)
