"""The runs that a server holds: the one it was started with, and those that a page has asked for since."""

import secrets
import threading
from collections import OrderedDict

from edgewise.errors import ArgumentError
from edgewise.views.live import Seen

__all__ = ["OTHER", "Runs"]

OTHER = "other"

HELD = 12
"""Runs of each kind; the oldest are forgotten."""


class Runs:
    """Runs by name; "" is the first, `OTHER` the one that stands beside it from the start."""

    def __init__(self, first: Seen, other: Seen | None = None) -> None:
        self._first, self._other = first, other
        self._held: OrderedDict[str, tuple[str, Seen]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, seen: Seen, kind: str = "asked") -> str:
        """Hold a run, and return its name; only older runs of its kind make room for it."""
        name = secrets.token_hex(6)
        with self._lock:
            self._held[name] = kind, seen
            alike = [one for one, (other, _) in self._held.items() if other == kind]
            for one in alike[:-HELD]:
                del self._held[one]
        return name

    def __getitem__(self, name: str) -> Seen:
        if not name:
            return self._first
        if name == OTHER and self._other is not None:
            return self._other
        with self._lock:
            if name not in self._held:
                raise ArgumentError("this run is no longer held by the server: ask for it again")
            self._held.move_to_end(name)
            return self._held[name][1]
