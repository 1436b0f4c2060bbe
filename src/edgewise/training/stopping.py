"""Ctrl-C and SIGTERM as a wish: the step at hand is finished and saved first; a second one stops at once."""

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Stopping"]


class Stopping:
    """While the context lasts, `asked` says which signal asked to stop, if one has; only the first process speaks."""

    def __init__(self, first: bool = True) -> None:
        self.asked: signal.Signals | None = None
        self._first = first
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stopping":
        if threading.current_thread() is threading.main_thread():  # Python gives signals to no other thread
            for one in (signal.SIGINT, signal.SIGTERM):
                self._before[one] = signal.signal(one, self._wish)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def leave(self) -> None:
        """Raise what the signal would have raised by itself, now that all is saved."""
        if self.asked is signal.SIGTERM or not self._first:
            raise SystemExit(128 + (self.asked or signal.SIGINT))
        raise KeyboardInterrupt

    def _wish(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.asked is not None:
            raise KeyboardInterrupt
        self.asked = signal.Signals(number)
        if self._first:
            os.write(2, b"\nstopping after this step; once more stops at once and loses what is not saved\n")
