"""A claim: one sentence about attention, how to measure it, and what the measurement must show.

A claim is written as a small function whose docstring is the sentence. `claim` makes it one that needs nothing;
`corpus_claim` one that reads tinyshakespeare through a `Lab`, and trains on it where it says for how many seconds.
"""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from edgewise.derivation.expected import agrees, plain, spoken
from edgewise.derivation.lab import Lab, NeedsText

__all__ = ["Claim", "ClaimResult", "Measured", "claim", "corpus_claim"]

Kind = Literal["exact", "close", "inequality", "property", "measured"]
Measured = Mapping[str, Any]


@dataclass(frozen=True)
class ClaimResult:
    """What came of running one claim; `why` says why it was skipped."""

    id: str
    says: str
    status: Literal["holds", "fails", "skipped"]
    measured: Measured
    expected: Measured
    seconds: float
    why: str = ""

    def record(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        whole = {
            "id": self.id,
            "says": self.says,
            "status": self.status,
            "measured": plain(self.measured),
            "expected": plain(self.expected),
            "seconds": round(self.seconds, 4),
        }
        return whole | ({"why": self.why} if self.why else {})

    def __str__(self) -> str:
        told = f"{self.status}: {self.why}" if self.why else f"{self.status}: {spoken(self.measured)}"
        return f"{self.id} {told}"


@dataclass(frozen=True)
class Claim:
    """One runnable statement. `seconds` is what its training takes on two cores; None means that it is quick."""

    id: str
    says: str
    expected: Measured
    kind: Kind
    measure: Callable[[Lab], Measured]
    needs_corpus: bool = False
    seconds: float | None = None

    @property
    def section(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]

    def run(self, lab: Lab) -> ClaimResult:
        """Measure, compare and return what came of it; a text that is not there makes it skipped, never failed."""
        begun = time.perf_counter()
        try:
            measured = self.measure(lab)
        except NeedsText as missing:
            return ClaimResult(self.id, self.says, "skipped", {}, self.expected, 0.0, str(missing))
        status = "holds" if agrees(measured, self.expected) else "fails"
        return ClaimResult(self.id, self.says, status, measured, self.expected, time.perf_counter() - begun)


def claim(id: str, *, expected: Measured, kind: Kind) -> Callable[[Callable[[], Measured]], Claim]:
    """Make a function that needs nothing a claim; its docstring is what the claim says."""

    def wrap(measure: Callable[[], Measured]) -> Claim:
        return Claim(id, _sentence(measure), expected, kind, lambda _: measure())

    return wrap


def corpus_claim(
    id: str, *, expected: Measured, kind: Kind, seconds: float | None = None
) -> Callable[[Callable[[Lab], Measured]], Claim]:
    """Make a function that reads tinyshakespeare a claim; with `seconds`, one that trains on it for about so long."""

    def wrap(measure: Callable[[Lab], Measured]) -> Claim:
        return Claim(id, _sentence(measure), expected, kind, measure, needs_corpus=True, seconds=seconds)

    return wrap


def _sentence(measure: Callable[..., Measured]) -> str:
    return " ".join((inspect.getdoc(measure) or measure.__name__).split())
