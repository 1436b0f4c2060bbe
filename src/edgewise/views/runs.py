"""The runs that a server holds: the one it was started with, and those that a page has asked for since."""

import secrets
import threading
from collections import OrderedDict

from edgewise.errors import ArgumentError
from edgewise.views.live import Seen

__all__ = ["OTHER", "Runs"]

OTHER = "other"

HELD = 12
"""Runs that were asked for; the oldest are forgotten."""


class Runs:
    """Runs by name; "" is the first, `OTHER` the one that stands beside it from the start."""

    def __init__(self, first: Seen, other: Seen | None = None) -> None:
        self._first, self._other = first, other
        self._asked: OrderedDict[str, Seen] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, seen: Seen) -> str:
        """Hold a run, and return its name."""
        name = secrets.token_hex(6)
        with self._lock:
            self._asked[name] = seen
            while len(self._asked) > HELD:
                self._asked.popitem(last=False)
        return name

    def __getitem__(self, name: str) -> Seen:
        if not name:
            return self._first
        if name == OTHER and self._other is not None:
            return self._other
        with self._lock:
            if name not in self._asked:
                raise ArgumentError("this run is no longer held by the server: ask for it again")
            self._asked.move_to_end(name)
            return self._asked[name]
