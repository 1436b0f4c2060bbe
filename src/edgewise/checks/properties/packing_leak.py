"""packing-leak: documents that share a row do not read each other, and each stands as if it were alone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torch import Tensor

from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.examples.layer import Layer, attended, causal
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import alone_or_packed, observed, only_positions, short_documents, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "F1": "no block-diagonal mask",
    "F2": "boundaries between documents are found in the wrong place",
    "F3": "positions do not start again with each document",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which documents in one row are not apart."""
    routes = taken(lab, packed=True)
    if not routes:
        raise Skip("it takes neither positions nor documents, so several documents in a row cannot be told to it")
    if all(only_positions(lab, one) for one in routes):
        raise Skip("it takes positions and uses them as positions only: nothing says that rows are packed")
    found = list(observed(lab, "packing-leak", tuple(KINDS), routes))
    yield from found
    leaking = {one.route for one in found}
    yield from short_documents(lab, "packing-leak", routes, leaking)
    yield from alone_or_packed(lab, "packing-leak", routes, leaking)


class _Open(Layer):
    def forward(self, x: Tensor, pos: Tensor) -> Tensor:  # noqa: ARG002  that it is not used is the fault
        query, key, value = self.projected(x)
        return self.mixed(attended(query, key, value, causal(x.shape[1])))


class _Right(Layer):
    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        query, key, value = self.projected(x)
        document = (pos == 0).cumsum(-1)
        if document.dim() == 1:
            document = document[None]
        same = document[:, None, :, None] == document[:, None, None, :]
        return self.mixed(attended(query, key, value, causal(x.shape[1]) & same))


PROPERTY = Property(
    name="packing-leak",
    says="Documents in one row do not read each other, and each comes out as it would alone.",
    why=(
        "Packing several documents into a row saves padding, and a plain causal mask then lets each read those before "
        "it: a model is trained on contexts that do not exist, and evaluated on the answers to other questions."
    ),
    assumes=(
        "A target that is told of documents: by positions that start again, by ids, or by lengths. Positions "
        "that change the output and hide nothing on any route are taken as positions only, unless documents(…) is "
        "declared."
    ),
    kinds=KINDS,
    references=(
        "DeepOpt-com/WrinkleFree-Monorepo#53",
        "axolotl-ai-cloud/axolotl#3796",
    ),
    examine=examine,
    broken=lambda: Example(_Open(), {"graph": "causal()"}),
    right=lambda: Example(_Right(), {"graph": "causal()"}),
)
