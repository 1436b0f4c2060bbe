"""Reading: who reads whom on each route beside what was meant, measured once, for all the properties that ask.

Each difference has one kind, the one whose hypothesis fits, so that one wrong mask is not told by seven properties.
What moves what has the last word on whether something is wrong; the masks that tracing saw, and what the code does
with them, say why.
"""

from edgewise.checks.reading.alone import alone
from edgewise.checks.reading.batch import rows_mixed
from edgewise.checks.reading.identified import pads_by_id
from edgewise.checks.reading.ignored import doubted
from edgewise.checks.reading.memory import memory_hidden, memory_padding
from edgewise.checks.reading.overflow import overflowing
from edgewise.checks.reading.own import masks_of_others
from edgewise.checks.reading.packing import alone_or_packed, only_positions, short_documents
from edgewise.checks.reading.reading import Reading
from edgewise.checks.reading.rectangles import rectangles
from edgewise.checks.reading.remembered import observed, readings, taken

__all__ = [
    "Reading",
    "alone",
    "alone_or_packed",
    "doubted",
    "masks_of_others",
    "memory_hidden",
    "memory_padding",
    "observed",
    "only_positions",
    "overflowing",
    "pads_by_id",
    "readings",
    "rectangles",
    "rows_mixed",
    "short_documents",
    "taken",
]
