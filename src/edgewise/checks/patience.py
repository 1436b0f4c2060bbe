"""A time limit on other people's code: a call that takes too long is cut off, where the system has a way to do that."""

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Clock", "OutOfTime", "patience"]


class OutOfTime(BaseException):
    """The time that may be spent is over."""


class Clock:
    """What is left of a time limit."""

    def __init__(self, seconds: float | None) -> None:
        self._began, self._seconds = time.perf_counter(), seconds

    def spent(self) -> float:
        """Return the seconds since it began."""
        return time.perf_counter() - self._began

    def left(self) -> float | None:
        """Return the seconds that are left, at least 0; None without a limit."""
        return None if self._seconds is None else max(0.0, self._seconds - self.spent())


@contextmanager
def patience(seconds: float | None) -> Generator[Clock]:
    """While this lasts, `OutOfTime` is raised once the seconds are over; in other threads than the first, it is not.

    Python code is cut off, and a call of torch when it returns. Whoever catches `OutOfTime` is not interrupted again.
    """
    clock = Clock(seconds)
    if seconds is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield clock
        return

    def stop(_: int, __: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield clock
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
