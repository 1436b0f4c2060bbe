"""A limit on how long a call may take."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["limited"]


@contextmanager
def limited(seconds: float | None) -> Generator[None]:
    """While this lasts, a TimeoutError is raised once so many seconds are over.

    That takes the main thread of a system with alarms, and an alarm that nobody else has set; elsewhere there is no
    limit. A call that is inside one long operation ends with that operation.
    """
    usable = seconds is not None and hasattr(signal, "setitimer") and _is_main()
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0] > 0:
        yield
        return
    assert seconds is not None

    def ring(*_: Any) -> None:
        raise TimeoutError(f"it took longer than {seconds:.3g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
