"""Trying: whether a target can be called in a way, and what it then answers."""

import time
from dataclasses import dataclass, field

from edgewise.checks.calls.calling import Answer, Refused, answer, call, held
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Subject

__all__ = ["BATCH", "PLAIN", "Trial"]

BATCH = 3
"""Sequences of a trial: another number than of tokens, heads and channels, so that axes are told apart."""
PLAIN = Route(batch=BATCH)


@dataclass(eq=False)
class Trial:
    """What has been tried so far."""

    seconds: float = 60.0
    """How long finding out may take in all."""
    began: float = field(default_factory=time.perf_counter)
    calls: int = 0
    failures: list[str] = field(default_factory=list[str])
    """What the target said each time, in order, each once."""

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - (time.perf_counter() - self.began)

    def answer(self, subject: Subject, given: Given, route: Route = PLAIN) -> Answer | None:
        """What it answers; None where it does not take this, or no time is left."""
        if self.left <= 0:
            return None
        self.calls += 1
        try:
            return answer(subject, given, route, seconds=self.left)
        except Refused as error:
            self._fail(error)
            return None

    def returned(self, subject: Subject, given: Given, route: Route = PLAIN) -> tuple[object, tuple[str, ...]] | None:
        """What it returns, whatever that is, and what it wrote into; None where it does not take this."""
        if self.left <= 0:
            return None
        self.calls += 1
        try:
            with held(subject, route, seconds=self.left):
                return call(subject, given.to(subject.dtype, subject.device), route)
        except Refused as error:
            self._fail(error)
            return None

    def _fail(self, error: Refused) -> None:
        if str(error) not in self.failures:
            self.failures.append(str(error))
