"""A report as text: the same lines with and without colour, so that nothing is said by colour alone."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from edgewise.checks.causes.ways import brief, named
from edgewise.checks.finding import Finding

if TYPE_CHECKING:
    from rich.text import Text

    from edgewise.checks.report import Report, Result

__all__ = ["MARKS", "of_property", "painted", "terminal"]

MARKS = {"pass": "✓ pass", "fail": "✗ fail", "warn": "! warn", "skip": "– skip"}
STYLES = {"pass": "green", "fail": "bold red", "warn": "yellow", "skip": "dim"}
WIDTH = 100
DRAWN = 16
"""Queries of a graph that are drawn at most."""


@dataclass(frozen=True)
class _Line:
    text: str
    style: str = ""


def terminal(report: "Report") -> str:
    """Return a report as plain text."""
    return "\n".join(line.text for line in _lines(report))


def painted(report: "Report") -> "Text":
    """Return a report as text that rich prints with colour."""
    from rich.text import Text

    return Text("\n").join(Text(line.text, style=line.style) for line in _lines(report))


def of_property(report: "Report", name: str) -> str:
    """Return the findings in which a property has a part, as text."""
    found = [
        one for one in report.findings if name in (one.cause.property, *(also.property for also in one.consequences))
    ]
    return "\n\n".join("\n".join(line.text for line in _finding(one, "")) for one in found)


def _lines(report: "Report") -> Iterator[_Line]:
    yield _Line(f"edgewise check {report.target}", "bold")
    for line in report.subject.splitlines():
        yield _Line(f"  {line}", "dim")
    yield _Line("")
    yield from _graphs(report)
    yield _Line("")
    wide = max((len(one.name) for one in report.results), default=0)
    for one in report.results:
        yield from _result(one, wide)
    for place, finding in enumerate(report.findings):
        yield _Line("")
        yield from _finding(finding, report.accepted.get(place, ""))
    yield _Line("")
    for note in report.notes:
        yield from _wrapped(f"note: {note}", "  ", "yellow")
    style = ("bold green", "bold red", "bold yellow")[report.exit_status]
    cost = f"{report.passes:,} forward passes, {report.seconds:.1f} s, {len(report.routes)} routes"
    yield _Line(f"{report.verdict}  ({cost})", style)


def _graphs(report: "Report") -> Iterator[_Line]:
    """The graph that was meant and the one that is, and where they differ the cells of both, side by side."""
    for name, sight in (("expected", report.expected), ("measured", report.measured)):
        yield from _wrapped(f"{sight.graph}{f'   {sight.says}' if sight.says else ''}", f"  {name}  ")
    one, other = report.expected.cells, report.measured.cells
    if one != other and one and other:
        yield from _side_by_side(one, other)


def _side_by_side(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[_Line]:
    wide = max(len("expected"), *(len(row) for row in one)) + 4
    yield _Line(f"            {'expected':<{wide}}measured", "dim")
    for query, (meant, seen) in enumerate(zip_longest(one, other, fillvalue="")):
        if query == DRAWN:
            yield _Line("            …", "dim")
            break
        yield _Line(f"  query {query:>3} {meant:<{wide}}{seen}{'' if meant == seen else '  ← differs'}")


def _result(one: "Result", wide: int) -> Iterator[_Line]:
    yield from _wrapped(one.why, f"  {MARKS[one.status]}  {one.name:<{wide}}  ", STYLES[one.status])


def _finding(finding: Finding, accepted: str) -> Iterator[_Line]:
    cause = finding.cause
    status = "warn" if cause.warning or accepted else "fail"
    yield _Line(f"{MARKS[status]}  {cause.property} {cause.kind}{f': {accepted}' if accepted else ''}", STYLES[status])
    where = cause.site + ("" if cause.head is None else f"{', ' if cause.site else ''}head {cause.head}")
    clean = named(finding.clean) if finding.clean else ""
    rows = {"routes": named(finding.routes), "clean": clean, "where": where, "measured": cause.measured}
    rows |= {"expected": cause.expected, "likely": cause.likely, "smallest": finding.smallest}
    for name, text in rows.items():
        if text:
            yield from _wrapped(text, f"  {name:<8}  ", "bold" if name == "likely" else "")
    for also in finding.consequences:
        yield from _wrapped(f"{also.property} {also.kind}, {brief(also.route)}: {also.measured}", "  follows   ", "dim")
    if cause.replay:
        yield _Line("  replay")
        for line in cause.replay.rstrip().splitlines():
            yield _Line(f"    {line}".rstrip(), "cyan")


def _wrapped(text: str, head: str, style: str = "") -> Iterator[_Line]:
    """Text after a head, further lines of it below its own beginning; lines that it has are kept."""
    for line in text.splitlines() or [""]:
        parts = textwrap.wrap(line, max(30, WIDTH - len(head)), break_on_hyphens=False) if len(line) > 30 else [line]
        for part in parts or [""]:
            yield _Line(f"{head}{part}".rstrip(), style)
            head = " " * len(head)
