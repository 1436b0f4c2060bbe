"""The runs that a server holds: the one it was started with, and those that a page has asked for since."""

import secrets
import threading
from collections import OrderedDict

from edgewise.errors import ArgumentError
from edgewise.views.live import Seen

__all__ = ["Runs"]

HELD = 12
"""Runs that were asked for; the oldest are forgotten."""


class Runs:
    """Runs by name; "" is the first."""

    def __init__(self, first: Seen) -> None:
        self._first = first
        self._asked: OrderedDict[str, tuple[Seen, str | None]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, seen: Seen, text: str | None) -> str:
        """Hold a run, and return its name.

        Args:
            seen: the run.
            text: what it read; None for what the first run read.
        """
        name = secrets.token_hex(6)
        with self._lock:
            self._asked[name] = (seen, text)
            while len(self._asked) > HELD:
                self._asked.popitem(last=False)
        return name

    def __getitem__(self, name: str) -> Seen:
        return self._first if not name else self._found(name)[0]

    def text(self, name: str) -> str | None:
        """What a run read; None for what the first one read."""
        return None if not name else self._found(name)[1]

    def _found(self, name: str) -> tuple[Seen, str | None]:
        with self._lock:
            if name not in self._asked:
                raise ArgumentError("this run is no longer held by the server: ask for it again")
            self._asked.move_to_end(name)
            return self._asked[name]
