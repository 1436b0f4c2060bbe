"""Heads and layers that read less than the declared graph, beside others that read all of it: local and global."""

from collections.abc import Sequence

import torch

from edgewise.checks.lab.sites import Seen
from edgewise.checks.reading.traced import Mistake
from edgewise.graphs import causal, full, recognise
from edgewise.graphs.algebra import And
from edgewise.graphs.rules import Causal, Chunks, Window

__all__ = ["narrower"]


def narrower(one: Mistake, calls: Sequence[Seen]) -> bool:
    """Return whether a head or layer has a window, or chunks, of its own where another has all that was declared.

    "causal()" says of a model that alternates between both what it reads as a whole. A slip that is known, or that
    leaves edges without a name, is none of it; nor is a window where a window was declared.
    """
    if one.kind or one.extra or one.meant.expected.source != "declared":
        return False
    if one.meant.expected.graph not in (causal(), full()):
        return False
    own = recognise(one.got)
    if not all(
        isinstance(part, Window | Causal | Chunks) for part in (own.operands if isinstance(own, And) else [own])
    ):
        return False
    meant = torch.from_numpy(one.meant.cells)
    alike = [each for each in calls if each.kind == "self" and tuple(each.cells.shape) == tuple(meant.shape)]
    return any(bool((each.allowed | ~meant).all(-1).all(-1).any()) for each in alike)
