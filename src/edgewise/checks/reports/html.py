"""A report as HTML: a fragment for a notebook, and one file that needs nothing else and asks for nothing."""

from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

from edgewise.checks.causes.ways import named
from edgewise.checks.finding import Finding
from edgewise.checks.reports.style import STYLE
from edgewise.checks.reports.terminal import MARKS

if TYPE_CHECKING:
    from edgewise.checks.report import Report, Result

__all__ = ["fragment", "page"]


def page(*reports: "Report") -> str:
    """Return one self-contained HTML file: light or dark as the reader has it, at any width."""
    title = reports[0].target if len(reports) == 1 else f"{len(reports)} targets"
    body = "\n".join(_section(report) for report in reports)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>edgewise check {escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f'<body class="ew-page">\n<main class="ew-check">\n{body}\n</main>\n</body>\n</html>\n'
    )


def fragment(report: "Report") -> str:
    """Return a report as a piece of HTML with its own style, for a notebook."""
    return f'<style>{STYLE}</style><div class="ew-check">{_section(report)}</div>'


def _section(report: "Report") -> str:
    state = ("pass", "fail", "warn")[report.exit_status]
    cost = f"{report.passes:,} forward passes · {report.seconds:.1f} s · {len(report.routes)} routes"
    parts = [
        f"<h1>{escape(report.target)}</h1>",
        f'<p class="ew-verdict ew-{state}">{MARKS[state][0]} {escape(report.verdict)}<small>{cost}</small></p>',
        "".join(f'<p class="ew-note">{escape(note)}</p>' for note in report.notes),
        _graphs(report),
        *(_finding(one, report.accepted.get(place, "")) for place, one in enumerate(report.findings)),
        '<h2>Properties</h2><ul class="ew-properties">' + "".join(map(_result, report.results)) + "</ul>",
        f"<details><summary>How it was called</summary><pre>{escape(report.subject)}</pre></details>",
    ]
    if report.routes:
        routes = "".join(f"<li>{escape(str(route))}</li>" for route in report.routes)
        parts.append(f"<details><summary>{len(report.routes)} routes</summary><ul>{routes}</ul></details>")
    told = ", ".join(f"{name} {value}" for name, value in report.settings.items())
    return f"<section>{''.join(parts)}<footer>{escape(told)}</footer></section>"


def _graphs(report: "Report") -> str:
    one, other = report.expected, report.measured
    drawn = [
        f"<figure><figcaption><b>{name}</b> <code>{escape(sight.graph)}</code>"
        f"<small>{escape(sight.says)}</small></figcaption>{_cells(sight.cells, against)}</figure>"
        for name, sight, against in (("expected", one, one.cells), ("measured", other, one.cells))
    ]
    return f'<div class="ew-graphs">{"".join(drawn)}</div>'


def _cells(cells: tuple[str, ...], against: tuple[str, ...]) -> str:
    """Cells as a table that is read aloud by its label; what differs has a mark of its own, not a colour alone."""
    if not cells:
        return ""
    rows = [
        "<tr>"
        + "".join(
            f'<td class="{"on" if cell == "■" else "off"}{"" if cell == meant else " ew-differs"}">'
            f"{'' if cell == meant else '!'}</td>"
            for cell, meant in zip_longest(row, other, fillvalue="·")
        )
        + "</tr>"
        for row, other in zip_longest(cells, against, fillvalue="")
    ]
    label = f"{len(cells)} queries (rows) and the keys that each reads (columns)"
    return f'<table class="ew-cells" aria-label="{label}"><tbody>{"".join(rows)}</tbody></table>'


def _result(result: "Result") -> str:
    return (
        f'<li class="ew-{result.status}"><b>{MARKS[result.status]}</b> <code>{escape(result.name)}</code> '
        f"<span>{escape(result.why)}</span></li>"
    )


def _finding(finding: Finding, accepted: str) -> str:
    cause = finding.cause
    state = "warn" if cause.warning or accepted else "fail"
    where = cause.site + ("" if cause.head is None else f"{', ' if cause.site else ''}head {cause.head}")
    rows = {"measured": cause.measured, "expected": cause.expected, "likely cause": cause.likely, "where": where}
    rows |= {"on": named(finding.routes, 6), "right on": named(finding.clean, 3), "smallest": finding.smallest}
    told = "".join(f"<dt>{name}</dt><dd>{_lines(text)}</dd>" for name, text in rows.items() if text)
    also = "".join(
        f"<li><code>{escape(one.property)} {escape(one.kind)}</code> {_lines(one.measured)}</li>"
        for one in finding.consequences
    )
    follows = f"<details open><summary>What follows from it</summary><ul>{also}</ul></details>" if also else ""
    replay = (
        f"<details open><summary>Replay</summary><pre>{escape(cause.replay)}</pre></details>" if cause.replay else ""
    )
    head = f"{MARKS[state]} · {escape(cause.property)} <code>{escape(cause.kind)}</code>"
    reason = f'<p class="ew-note">{escape(accepted)}</p>' if accepted else ""
    return f'<article class="ew-finding ew-{state}"><h2>{head}</h2>{reason}<dl>{told}</dl>{follows}{replay}</article>'


def _lines(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if "\n" in text else escape(text)
