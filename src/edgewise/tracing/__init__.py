"""Tracing: looking at the attention of any PyTorch model while it runs, without changing what it computes.

`trace` captures every call: queries, keys, values, the edges, what came out. `record` runs a model with and without and
proves that both gave the same. Each call is seen by one of the `routes`; what was seen is computed again and compared,
and a call that is not explained is an error.
"""

from edgewise.tracing.call import Attention, Listener
from edgewise.tracing.capture import record, trace, watched
from edgewise.tracing.captured import Captured
from edgewise.tracing.masks import Edges
from edgewise.tracing.run import Run
from edgewise.tracing.sites import Place
from edgewise.tracing.watch import Watch

__all__ = ["Attention", "Captured", "Edges", "Listener", "Place", "Run", "Watch", "record", "trace", "watched"]
