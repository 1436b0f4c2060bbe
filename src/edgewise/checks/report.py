"""What a check came to: one result a property, one finding a fault, the measured graph beside the expected.

A report is plain values, so that it can be kept, sent and compared; `reports` turns it into what people and programs
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Finding

__all__ = ["CheckFailure", "Report", "Result", "Sight", "Status"]

Status = Literal["pass", "fail", "warn", "skip"]


class CheckFailure(AssertionError):  # noqa: N818 — a failed check is what a test runner counts, not an error of the code
    """A target does not hold what was asked of it; its text is the report."""


@dataclass(frozen=True)
class Sight:
    """A graph as it was meant or seen."""

    graph: str
    """As a graph value, "window(4)", or in words where it is none."""
    says: str = ""
    """Where it is from: declared, read from the config, inferred, measured on which route."""
    cells: tuple[str, ...] = ()
    """One text a query, ■ where it reads a key and · where not."""


@dataclass(frozen=True)
class Result:
    """What one property came to."""

    name: str
    status: Status
    why: str
    """What was looked at, what is wrong, or why it cannot be told."""
    routes: int = 0
    """Routes that were looked at."""
    seconds: float = 0.0
    mistake: str = ""
    """Where looking itself failed: the exception, for a report to those who make edgewise."""


@dataclass(frozen=True)
class Report:
    """What was found of one target.

    Example:
        >>> report = Report("attn", "called as attn(q, k, v)", Sight("causal()"), Sight("causal()"), ())
        >>> report.exit_status, report.verdict
        (2, 'nothing could be told')
    """

    target: str
    subject: str
    """How it is called, in a few lines."""
    expected: Sight
    measured: Sight
    results: tuple[Result, ...]
    findings: tuple[Finding, ...] = ()
    accepted: Mapping[int, str] = field(default_factory=dict[int, str])
    """Which findings are not counted, by their place, and why: allowed with a reason, or known in a baseline."""
    routes: tuple[Route, ...] = ()
    passes: int = 0
    """Forward passes of the target."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """What a reader must know: that time ran out, that a part was not seen."""
    unsound: str = ""
    """What is wrong with the target's plain answer already, so that nothing that was measured means much."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """What else gives the same report again: seed, length, versions."""

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that count: neither warnings nor accepted."""
        found = enumerate(self.findings)
        return tuple(one for place, one in found if not one.cause.warning and place not in self.accepted)

    @property
    def mistakes(self) -> tuple[Result, ...]:
        """The properties whose own code failed."""
        return tuple(one for one in self.results if one.mistake)

    @property
    def told(self) -> int:
        """Properties of which something could be said."""
        return sum(one.status != "skip" for one in self.results)

    @property
    def exit_status(self) -> int:
        """0 where all that could be told holds, 1 where a property fails, 2 where nothing could be told."""
        if self.failures:
            return 1
        return 2 if self.mistakes or self.unsound or not self.told else 0

    @property
    def verdict(self) -> str:
        """The report in a few words."""
        many = len(self.failures)
        if many:
            return "1 fault" if many == 1 else f"{many} faults"
        if self.unsound:
            return f"nothing could be told: {self.unsound}"
        if self.mistakes:
            return f"edgewise itself failed at {', '.join(one.name for one in self.mistakes)}"
        if not self.told:
            return "nothing could be told"
        skipped = len(self.results) - self.told
        return "holds" if not skipped else f"holds, as far as could be told: {skipped} of {len(self.results)} skipped"

    def result(self, name: str) -> Result:
        """Return what one property came to."""
        return next(one for one in self.results if one.name == name)

    def raise_for_failures(self) -> "Report":
        """Return the report if nothing fails.

        Raises:
            CheckFailure: a property fails, or nothing could be told; the text is the whole report.
        """
        if self.exit_status:
            raise CheckFailure(f"{self.target}: {self.verdict}\n\n{self}")
        return self

    def __str__(self) -> str:
        from edgewise.checks.reports import terminal

        return terminal(self)

    def _repr_html_(self) -> str:
        from edgewise.checks.reports import fragment

        return fragment(self)

    def json(self) -> str:
        """Return the report as JSON; docs/check-json.md tells its fields."""
        from edgewise.checks.reports import as_json

        return as_json(self)
