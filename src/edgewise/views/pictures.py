"""Pictures of heads, the last few remembered: what is known of a head makes its next picture cheap."""

import threading
from collections import OrderedDict

from edgewise.records import Call, Overview, overview

__all__ = ["Pictures"]

REMEMBERED = 24
"""Heads whose finest grid is held: up to 4 × 4 numbers a pixel, some 50 MB for the largest pictures."""


class Pictures:
    """Pictures by run, call, head and stage."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], Overview] = OrderedDict()
        self._lock = threading.Lock()

    def look(
        self, run: str, call: Call, head: int, batch: int, stage: str, rows: slice, keys: slice, shape: tuple[int, int]
    ) -> Overview:
        """Return a rectangle of a head of a run; see `edgewise.records.overview`.

        Raises:
            ArgumentError: there is no such head or rectangle.
        """
        name = (run, call.site.name, call.index, head, batch, stage)
        with self._lock:
            known = self._known.get(name)
        found = (
            overview(call, head, rows, keys, shape, batch=batch, stage=stage)
            if known is None
            else known.zoom(rows, keys, shape)
        )
        with self._lock:
            self._known[name] = found
            self._known.move_to_end(name)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found
