"""batch-leak: each row of a batch is computed from itself alone, as if it were by itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torch import nn

from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.reordered import reordered
from edgewise.checks.property import Example, Property
from edgewise.checks.reading import masks_of_others, observed, rows_mixed, taken

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

KINDS = {
    "E1": "rows of the batch are mixed by a layout or a view",
    "E2": "masks are tiled over heads in the wrong order",
    "E3": "the mask or the positions of one row are used for all",
    "E4": "rows of a cache, of beams or of slots are confused, or not all of a cache is reordered",
}


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield each route on which rows of the batch depend on each other."""
    routes = [one for one in taken(lab) if one.batch > 1]
    if not routes:
        raise Skip("it takes no more than one sequence at a time")
    yield from observed(lab, "batch-leak", ("E2", "E3"), routes)
    yield from rows_mixed(lab, "batch-leak", routes)
    yield from masks_of_others(lab, "batch-leak", routes)
    if not lab.mixing:
        yield from reordered(lab, routes)


PROPERTY = Property(
    name="batch-leak",
    says="No row of a batch depends on another row, nor on another row's mask or positions.",
    why=(
        "A layout with time first fed with the batch first attends from sentence to sentence; masks tiled in the "
        "wrong order hide another sentence's padding. Training goes on, results depend on who shares the batch."
    ),
    assumes=(
        "Floats are (batch, tokens, channels) unless a target is declared to be layout='time first'. Rounding that "
        "differs with the batch size is measured and never a fault; what mixes rows beside attention, as batch "
        "statistics in training do, is a warning at most."
    ),
    kinds=KINDS,
    references=("IBM/TabFormer#14", "om-ai-lab/OmDet#19", "aipixel/AEMatter#3"),
    examine=examine,
    broken=lambda: Example(nn.MultiheadAttention(16, 4).double().eval(), {"graph": "full()"}),
    right=lambda: Example(nn.MultiheadAttention(16, 4, batch_first=True).double().eval(), {"graph": "full()"}),
)
