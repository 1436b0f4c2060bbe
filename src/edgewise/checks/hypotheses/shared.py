"""What heads and rows see where masks of a batch are handed out in the wrong order."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

__all__ = ["HandedOut", "handed_out"]


@dataclass(frozen=True, eq=False)
class HandedOut:
    """One way to give masks to rows and heads."""

    kind: str
    likely: str
    rows: np.ndarray
    """(batch, heads): whose mask each head of each row is given."""

    def cells(self, masks: Bool[np.ndarray, "batch query key"]) -> Bool[np.ndarray, "batch heads query key"]:
        """Return what each head of each row sees."""
        return masks[self.rows]


def handed_out(batch: int, heads: int) -> Iterator[HandedOut]:
    """Yield the wrong ways, the most frequent first."""
    row, head = np.arange(batch)[:, None], np.arange(heads)[None]
    flat = row * heads + head
    yield HandedOut(
        "E2",
        "the mask is tiled over heads in the wrong order: repeat gives rows 0 1 0 1 … where each row's mask was meant "
        "once for each of its heads (repeat_interleave)",
        flat % batch,
    )
    for one in range(batch):
        yield HandedOut("E3", f"the mask of row {one} is used for all rows", np.full((batch, heads), one))
    yield HandedOut("E3", "each row is given the mask of another row", np.broadcast_to((row + 1) % batch, flat.shape))
    yield HandedOut("E3", "each row is given the mask of another row", np.broadcast_to((row - 1) % batch, flat.shape))
    yield HandedOut("E3", "rows are given the masks in reverse", np.broadcast_to(batch - 1 - row, flat.shape))
    if heads != batch:
        yield HandedOut("E2", "each head is given the mask of another row", np.broadcast_to(head % batch, flat.shape))
