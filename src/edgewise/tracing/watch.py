"""Who is listening to which model, and how a call that a route has seen gets to them: once, and only to its model.

The routes replace functions that all models share, so what they replace must know which models are watched now. That
list is here, guarded, and empty when nobody listens.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily

from edgewise.tracing.call import Attention, Listener
from edgewise.tracing.masks import Memory
from edgewise.tracing.sites import Names, Place, names_of, running

__all__ = ["Missed", "Shared", "Watch", "aside", "claim", "listening", "missed", "offer", "watchers"]

Missed = Callable[[Place, str], None]
"""Told of a softmax between two products that could not be put into the words of attention, and why."""

_active: list["Watch"] = []
_lock = threading.RLock()
_thread = threading.local()


@dataclass(eq=False)
class Watch:
    """One listener and the model it listens to; a model that is no module is whatever runs while it listens."""

    model: object
    listener: Listener
    missed: Missed | None = None
    changes: bool = False
    """Whether the listener gives other outputs: those who only look are shown what the model gets in the end."""
    names: Names = field(init=False, repr=False)
    memory: Memory = field(default_factory=Memory, init=False, repr=False)

    def __post_init__(self) -> None:
        self.names = names_of(self.model)

    def place(self, query: int, key: int, module: nn.Module | None) -> Place | None:
        """Where in the model a call comes from, or None where it comes from elsewhere."""
        found = running(self.names, query, key, module)
        if found is None and not isinstance(self.model, nn.Module):
            return Place(None, getattr(self.model, "__name__", type(self.model).__name__), None, "self", None)
        return found


@contextmanager
def listening(watch: Watch) -> Generator[None]:
    """While this lasts, the watch is told of its model's calls."""
    with _lock:
        _active.append(watch)
    try:
        yield
    finally:
        with _lock:
            _active.remove(watch)


def watchers(query: int, key: int, module: nn.Module | None = None, *, inside: str = "") -> list[tuple[Watch, Place]]:
    """The watches to which a call belongs: none inside a call that has been claimed already.

    Args:
        query: number of queries.
        key: number of keys.
        module: the module that calls, where the route knows it.
        inside: the child of the module that would be running, had the call not been fused with what is around it.
    """
    if getattr(_thread, "claimed", False):
        return []
    found = ((watch, watch.place(query, key, module)) for watch in _in_order())
    return [(watch, _inner(watch, place, inside)) for watch, place in found if place is not None]


def _in_order() -> list[Watch]:
    """The watches, those first whose listener is asked last."""
    return sorted(_active, key=lambda watch: not watch.changes)


def _inner(watch: Watch, place: Place, inside: str) -> Place:
    return place.child(inside, watch.names) if inside and place.module is not None else place


def claim(found: list[tuple[Watch, Place]], attention: Attention, original: Callable[[], Tensor]) -> Tensor:
    """What the listeners make of a call: whoever began to listen last is asked first, but after those who only look."""
    inner: Attention | None = None
    for watch, place in found:
        seen = attention.at(place, watch.memory)
        original, inner = _bound(watch, seen, original, inner), seen
    _thread.claimed = True
    try:
        with aside():
            return original()
    finally:
        _thread.claimed = False


def missed(found: list[tuple[Watch, Place]], why: str) -> None:
    """Tell the watches of something that may be attention and cannot be offered."""
    for watch, place in found:
        if watch.missed is not None:
            watch.missed(place, why)


@contextmanager
def aside() -> Generator[None]:
    """While this lasts, a mode that looks at every operation stands aside: what runs is known, or nobody's model."""
    if getattr(_get_current_dispatch_mode(), "stands_aside", False):
        with _pop_mode_temporarily():
            yield
    else:
        yield


def offer(
    found: list[tuple[Watch, Place]],
    attention: Attention,
    run: Callable[[], Any],
    out_of: Callable[[Any], Tensor],
    back: Callable[[Tensor], Any],
) -> Any:
    """What the caller of a function of attention gets: its own result, unless a listener gave another output.

    Args:
        found: who listens.
        attention: the call.
        run: calls the function as it was called.
        out_of: the output (batch, heads, query, width) in the function's result.
        back: a result made of such an output.
    """
    answer: list[Any] = []

    def original() -> Tensor:
        result = run()
        answer[:] = result, out_of(result)
        return answer[1]

    out = claim(found, attention, original)
    return answer[0] if answer and out is answer[1] else back(out)


def _bound(
    watch: Watch, attention: Attention, original: Callable[[], Tensor], inner: Attention | None
) -> Callable[[], Tensor]:
    def run() -> Tensor:
        out = original()
        if inner is not None and inner.note:
            attention.note = inner.note  # what was done to the call further in
        return out

    return lambda: watch.listener(attention, run)


class Shared:
    """Something put in place when the first needs it and taken away when the last has finished, in any order."""

    def __init__(self, install: Callable[[ExitStack], None]) -> None:
        self._install, self._users, self._undo = install, 0, ExitStack()

    @contextmanager
    def _held(self) -> Generator[None]:
        with _lock:
            if not self._users:
                with ExitStack() as undo:  # undone here should it fail half way
                    self._install(undo)
                    self._undo = undo.pop_all()
            self._users += 1
        try:
            yield
        finally:
            with _lock:
                self._users -= 1
                if not self._users:
                    self._undo.close()

    def __call__(self, watch: Watch) -> AbstractContextManager[None]:  # noqa: ARG002 - the same for all
        """A stretch during which it is in place."""
        return self._held()
