"""The route through attention that is written by hand: a softmax between two products.

Operations are watched as they run, whatever they are called in Python: `flow` keeps what is known of each storage for
as long as it lives, `rules` says what an operation does to it. Where weights meet values, the steps between are put
into words (`meaning`), axes are found (`arrange`), and the call is offered like any other. What is a softmax between
two products and cannot be put into those words is said to be seen and not explained, and why.

The thread that opens the trace is watched, and what it compiles or runs in other threads is not.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from torch import Tensor

from edgewise.tracing.routes.written.flow import Flow
from edgewise.tracing.routes.written.names import install
from edgewise.tracing.routes.written.offering import offered
from edgewise.tracing.routes.written.rules import known
from edgewise.tracing.routes.written.trail import Meeting
from edgewise.tracing.watch import Shared, Watch

__all__ = ["watching"]


class _Thread(threading.local):
    flow: Flow | None = None


_thread = _Thread()
_names = Shared(lambda undo: install(undo, lambda: _thread.flow))


@contextmanager
def watching(watch: Watch) -> Generator[None]:
    """While this lasts, the operations of this thread are watched; once, however many do."""
    with _names(watch):
        if _thread.flow is not None:
            _thread.flow.learn(watch.model)
            yield
            return
        flow = _thread.flow = Flow(known, _below)
        flow.learn(watch.model)
        try:
            with flow:
                yield
        finally:
            _thread.flow = None


def _below(meeting: Meeting) -> Tensor:
    return offered(meeting, meeting.out, below=True)
