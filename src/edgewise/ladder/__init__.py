"""The ladder: language models, a rung a file, each a few lines away from the one before, up to the GPT.

`RUNGS` lists them in order, `rung(name)` finds one, and `.build(size)` makes its model. `change(before, after)`
computes what differs between the source of two of them, and what of it is the forward pass. Nothing here loads torch
until a model is built.
"""

from edgewise.ladder.change import Change, Line, change
from edgewise.ladder.rungs import RUNGS, Counts, Rung, rung
from edgewise.ladder.size import Size

__all__ = ["RUNGS", "Change", "Counts", "Line", "Rung", "Size", "change", "rung"]
