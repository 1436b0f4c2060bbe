"""padding-leak: what stands in padded places changes nothing of real tokens' outputs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.counted_pads import by_side, counted_pads
from edgewise.checks.properties.examples.layer import Layer, attended
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import doubted, memory_padding, observed, pads_by_id, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "D1": "the padding mask is not applied, on some route, step or batch size",
    "D2": "the padding mask lies on the wrong axis",
    "D3": "padding is found by the wrong id, or on the wrong side",
    "D4": "padding is read through a state, a pooling or a norm",
    "D5": "padding of what cross attention reads is not hidden",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which padding is read."""
    if lab.declared.pads_attended:
        raise Skip("padding is read by design, as declared")
    routes = [*taken(lab, mask="left"), *taken(lab, mask="right")]
    of_memory = lab.subject.memory_mask is not None
    if not routes and not of_memory and lab.declared.pad is None:
        raise Skip("it takes no padding mask and knows no id of padding")
    for one in by_side(lab, [*observed(lab, "padding-leak", tuple(KINDS), routes)], routes):
        yield doubted(lab, one)
    yield from counted_pads(lab, routes)
    yield from pads_by_id(lab, "padding-leak")
    if of_memory:
        yield from memory_padding(lab, "padding-leak", routes or taken(lab))


class _Forgetful(Layer):
    def forward(self, x: Tensor, mask: Tensor, fused: bool = True) -> Tensor:
        query, key, value = self.projected(x)
        if fused:
            return self.mixed(F.scaled_dot_product_attention(query, key, value))
        return self.mixed(attended(query, key, value, mask[:, None, None, :]))


class _Right(Layer):
    def forward(self, x: Tensor, mask: Tensor, fused: bool = True) -> Tensor:
        query, key, value = self.projected(x)
        keep = mask[:, None, None, :]
        if fused:
            return self.mixed(F.scaled_dot_product_attention(query, key, value, attn_mask=keep))
        return self.mixed(attended(query, key, value, keep))


PROPERTY = Property(
    name="padding-leak",
    says="What stands in padded places moves no output of a real token.",
    why=(
        "The same sentence gets another embedding, class or continuation by what it shares a batch with. It shows as "
        "scores that change with the batch size, and is then explained away as rounding."
    ),
    assumes=(
        "A target that is told of padding, or knows its id. Outputs of padded places themselves are nobody's concern; "
        "padding on the right of a causal model is out of sight anyway; declare pads_attended where padding is read "
        "by design."
    ),
    kinds=KINDS,
    references=("AnswerDotAI/ModernBERT#40", "BitVoyage/FastBERT#14"),
    examine=examine,
    broken=lambda: Example(_Forgetful(), {"graph": "full()"}),
    right=lambda: Example(_Right(), {"graph": "full()"}),
)
