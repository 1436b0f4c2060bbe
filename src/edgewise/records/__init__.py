"""Records: what was kept of a run of a model, as values that cross rooms. numpy alone, no torch.

A `Record` holds the `Call`s of attention as they happened: queries, keys, values, the graph and what came out, exactly
in their dtype. Weights are not in it: `row` and `tile` compute any stage of any part again,
`cell` tells the arithmetic of one, and `overview` draws any rectangle. A `Writer` streams a record
into a file, and `open_record` maps it.
"""

from edgewise.records.arrays import Array, bfloat16_bits
from edgewise.records.call import Call
from edgewise.records.cell import Cell, cell
from edgewise.records.kept import Kept
from edgewise.records.overview import Overview, overview
from edgewise.records.reader import open_record
from edgewise.records.recompute import Precision, row, tile
from edgewise.records.record import Proof, Record, Tokens
from edgewise.records.show import show
from edgewise.records.site import Kind, Site
from edgewise.records.statistics import NEAR, Statistics
from edgewise.records.stitch import stitched
from edgewise.records.writer import Writer, save

__all__ = [
    "NEAR",
    "Array",
    "Call",
    "Cell",
    "Kept",
    "Kind",
    "Overview",
    "Precision",
    "Proof",
    "Record",
    "Site",
    "Statistics",
    "Tokens",
    "Writer",
    "bfloat16_bits",
    "cell",
    "open_record",
    "overview",
    "row",
    "save",
    "show",
    "stitched",
    "tile",
]
