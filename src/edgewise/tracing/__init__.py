"""Tracing: looking at the attention of any PyTorch model while it runs, without changing what it computes.

`trace` captures every call: queries, keys, values, the edges, what came out. `record` runs a model with and without and
proves that both gave the same. Each call is seen by one of the `routes`; what was seen is computed again and compared,
and a call that is not explained is an error. `swap` runs it with one line of attention replaced, in some heads.

`target` finds the model that a name stands for, `feed` what it is given to read, and `recorded` runs one on the other.
"""

from edgewise.tracing.call import Attention, Listener
from edgewise.tracing.capture import called, record, trace, watched
from edgewise.tracing.captured import Captured
from edgewise.tracing.compiled import as_written
from edgewise.tracing.inputs import Feed, Given, feed, recorded
from edgewise.tracing.masks import Edges
from edgewise.tracing.run import Run
from edgewise.tracing.sites import Place
from edgewise.tracing.statistics import statistics
from edgewise.tracing.swapping import Swapped, swap
from edgewise.tracing.targets import FORMS, Reader, Target, from_name, target, tiny_target
from edgewise.tracing.watch import Watch

__all__ = [
    "FORMS",
    "Attention",
    "Captured",
    "Edges",
    "Feed",
    "Given",
    "Listener",
    "Place",
    "Reader",
    "Run",
    "Swapped",
    "Target",
    "Watch",
    "as_written",
    "called",
    "feed",
    "from_name",
    "record",
    "recorded",
    "statistics",
    "swap",
    "target",
    "tiny_target",
    "trace",
    "watched",
]
