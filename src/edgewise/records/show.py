"""A record as a table for the terminal, equal layers in one line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan

from edgewise.records.call import Call
from edgewise.records.record import Record
from edgewise.records.site import Site

__all__ = ["show"]

LONGEST = 48  # characters of a graph or of a text
HEAD = ["site", "kind", "heads × width", "calls", "query × key", "graph", "dtype", "besides", "size", "residual"]


@dataclass(frozen=True)
class _Line:
    """What a site's calls have in common; sites with equal lines are one line of the table."""

    name: str
    kind: str
    heads: str
    calls: str
    size: str
    graph: str
    dtype: str
    extras: str


def show(record: Record) -> str:
    """A record as text: its sites, shapes, graphs, dtypes, sizes and residuals, equal layers in one line.

    Example:
        >>> print(show(Record([], target="my model")))
        my model
        no calls
        looking: not compared with an untouched run
    """
    lines = [record.target or "a record"]
    if record.tokens is not None and len(record.tokens):
        many = " + ".join(f"{len(one):,}" for one in record.tokens[:4]) + (" + …" if len(record.tokens) > 4 else "")
        lines.append(f"tokens   {many}: {_excerpt(next(iter(record.tokens)))}")
    lines += _sites(record) if len(record.calls) else ["no calls"]
    return "\n".join([*lines, f"looking: {record.proof}"])


def _sites(record: Record) -> list[str]:
    """Return the table of the sites, and a line of sums."""
    by_site = dict[Site, list[Call]]()
    for call in record.calls:
        by_site.setdefault(call.site, []).append(call)
    groups = dict[_Line, list[tuple[Site, list[Call]]]]()
    for site, calls in by_site.items():
        groups.setdefault(_line(site, calls), []).append((site, calls))
    rows = [_row(line, members) for line, members in groups.items()]
    shown = [place for place in range(len(HEAD)) if any(row[place] for row in rows)]
    total = _bytes(sum(call.nbytes for call in record.calls))
    routes = ", ".join(dict.fromkeys(call.route for call in record.calls))
    return [
        *_table([[row[place] for place in shown] for row in (HEAD, *rows)]),
        f"{len(by_site)} sites, {len(record.calls):,} calls, {total}; caught by {routes}",
    ]


def _line(site: Site, calls: list[Call]) -> _Line:
    first = calls[0]
    heads = f"{site.heads}" if site.groups == site.heads else f"{site.heads} on {site.groups}"
    kept = "" if first.kept.heads is None else f", kept {_numbers(first.kept.heads)}"
    rows = "" if first.kept.rows is None else f" ({len(first.kept.rows)} rows kept)"
    dtypes = dict.fromkeys(array.dtype for array in (first.query, first.key, first.value, first.out))
    return _Line(
        re.sub(r"\d+", "#", site.name),
        site.kind,
        f"{heads} × {site.width}{kept}",
        f"{len(calls):,}",
        f"{_range(call.rows for call in calls)} × {_range(call.keys for call in calls)}{rows}"
        + (f", batch {first.batch}" if first.batch > 1 else ""),
        _cut(" / ".join(dict.fromkeys(_graph(call) for call in calls))),
        "/".join(dtypes),
        ", ".join(dict.fromkeys(extra for call in calls for extra in _extras(call))),
    )


def _row(line: _Line, members: list[tuple[Site, list[Call]]]) -> list[str]:
    calls = [call for _, own in members for call in own]
    residuals = [call.residual for call in calls if not isnan(call.residual)]
    return [
        _name([site.name for site, _ in members]),
        line.kind,
        line.heads,
        line.calls,
        line.size,
        line.graph,
        line.dtype,
        line.extras,
        _bytes(sum(call.nbytes for call in calls)),
        f"{max(residuals):.1e}" if residuals else "",
    ]


def _name(names: list[str]) -> str:
    """Return names that differ in one number as one: model.layers.0…23.self_attn ×24."""
    if len(names) == 1:
        return names[0]
    split = [re.split(r"(\d+)", name) for name in names]
    parts: list[str] = []
    for same in zip(*split, strict=True):
        distinct = list(dict.fromkeys(same))
        parts.append(distinct[0] if len(distinct) == 1 else _numbers([int(one) for one in distinct]))
    return f"{''.join(parts)} ×{len(names)}"


def _numbers(numbers: Iterable[int]) -> str:
    """Return rising numbers, runs of them as first…last."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [f"{a}" if a == b else f"{a}…{b}" for a, b in runs]
    return ",".join(shown if len(shown) <= 6 else [*shown[:3], "…", shown[-1]])


def _graph(call: Call) -> str:
    if call.allowed is not None:
        return "dense"
    if call.graph is None:
        return "full()"
    # Positions that are listed grow with the text; what matters is that some are.
    return re.sub(r"\b(keys|documents)\((?:[^()]|\([^()]*\))*\)", r"\1(…)", repr(call.graph))


def _extras(call: Call) -> list[str]:
    found = [name for name in ("bias", "sinks") if getattr(call, name) is not None]
    found += [] if call.soft_cap is None else [f"soft cap {call.soft_cap:g}"]
    found += [f"dropout {call.dropout:g}"] if call.dropout else []
    return found


def _range(sizes: Iterable[int]) -> str:
    found = sorted(set(sizes))
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,}…{found[-1]:,}"


def _excerpt(tokens: tuple[str, ...]) -> str:
    return _cut(repr("".join(tokens[:40]).encode("utf-8", "replace").decode()))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _bytes(size: int) -> str:
    number, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
