"""Targets that are wrong in one way, and the same targets right: every sub-kind of the twelve families, and traps.

Each file holds one or two families. `CASES` is all of them; a case builds its target with `build(ok)`.
"""

from battery import (
    arithmetic,
    batches,
    controls,
    designs,
    future,
    heads,
    masks,
    numbers,
    padding,
    paths,
    patterns,
    positions,
)
from battery.case import CASES, Case

__all__ = [
    "CASES",
    "Case",
    "arithmetic",
    "batches",
    "controls",
    "designs",
    "future",
    "heads",
    "masks",
    "numbers",
    "padding",
    "paths",
    "patterns",
    "positions",
]
