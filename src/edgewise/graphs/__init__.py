"""Graphs: the mask of attention as a value. Which query may read which key, before any number is computed.

`causal`, `full`, `window`, `prefix`, `chunks`, `documents` and `keys` are the rules; `&`, `|` and `~` combine them. A
graph knows no lengths until it is asked (`dense`, `ranges`, `count`, `blocks`, `draw`), and millions of positions cost
what their runs cost. This room knows numpy alone, so that tools which only look at graphs need no torch.
"""

from edgewise.graphs.blocks import Block
from edgewise.graphs.difference import Difference, RowDifference, difference
from edgewise.graphs.graph import Graph
from edgewise.graphs.listed import documents, keys
from edgewise.graphs.parse import parse
from edgewise.graphs.ranges import Ranges
from edgewise.graphs.recognise import recognise
from edgewise.graphs.rules import causal, chunks, full, prefix, window

__all__ = [
    "Block",
    "Difference",
    "Graph",
    "Ranges",
    "RowDifference",
    "causal",
    "chunks",
    "difference",
    "documents",
    "full",
    "keys",
    "parse",
    "prefix",
    "recognise",
    "window",
]
