"""A model's run as it is looked on: what runs, how fast, and the time that is left."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from edgewise.cli.telling import Tell

if TYPE_CHECKING:
    from edgewise.tracing import Feed

__all__ = ["looked_on"]


def looked_on(fed: "Feed", tell: Tell) -> "Feed":
    """Return what is fed, told of as it runs: first untouched, then call by call.

    What a model writes is counted in tokens. How long it takes to read is known when it has read once: watched it
    takes about as long again.
    """
    from edgewise.tracing import called

    looking = _Looking(fed.forward or called, tell, writes=fed.writes > 0)
    fed.wrote = looking.wrote if fed.writes else None
    fed.forward = looking.forward
    return fed


class _Looking:
    def __init__(self, forward: Callable[[Any, Any], Any], tell: Tell, *, writes: bool) -> None:
        self._forward, self._tell, self._writes = forward, tell, writes
        self._turns = iter(("running untouched", "watched"))
        self._turn, self._began, self._took, self._calls = "", 0.0, 0.0, 0

    def forward(self, model: Any, inputs: Any) -> Any:
        """Run the model as it is run anyway, and tell of it."""
        self._turn = next(self._turns, "running again")
        self._began = time.perf_counter()
        self._tell(self._turn)
        if self._turn == "watched":
            from edgewise.tracing import Watch, watched

            with watched(Watch(model, self._listen)):
                return self._forward(model, inputs)
        found = self._forward(model, inputs)
        self._took = time.perf_counter() - self._began
        return found

    def wrote(self, tokens: int, of: int) -> None:
        """Tell how far the model is with what it writes."""
        self._tell(self._turn, tokens, of, "tokens")

    def _listen(self, attention: Any, original: Callable[[], Any]) -> Any:
        self._calls += 1
        if not self._writes:
            passed = min(time.perf_counter() - self._began, 0.99 * self._took)
            self._tell(f"watched: {self._calls:,} calls, {attention.site.name}", passed, self._took)
        return original()
