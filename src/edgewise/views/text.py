"""The terminal's face: all heads in a table, one head as a small picture, one row as a ranked list, one cell."""

import re
from collections.abc import Sequence

import numpy as np

from edgewise.axes import canonical
from edgewise.records import Call, Record, cell, overview, row
from edgewise.views.doing import Doing, doing

__all__ = ["heads_text", "matrix_text", "row_text", "text"]

SHADES = " ·░▒▓█"
# What moves a cursor, turns the direction of writing or has no width.
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]")
COLUMNS = (("entropy", 7), ("distance", 8), ("first", 6), ("previous", 8), ("self", 6), ("induction", 9))


def text(
    record: Record,
    site: str | None = None,
    head: int | None = None,
    query: int | None = None,
    key: int | None = None,
    *,
    stage: str = "weights",
    index: int = -1,
    batch: int = 0,
) -> str:
    """A record as text: all heads; with a site and a head its picture; with a query the row; with a key the cell.

    Args:
        record: the run.
        site: a name of a site.
        head: which head of it.
        query: which row.
        key: which column.
        stage: "raw", "scaled", "masked" or "weights".
        index: which call of the site; negative counts from the last.
        batch: which sequence.

    Raises:
        ArgumentError: there is no such site, head, query, key or stage.
    """
    if site is None or head is None:
        return heads_text(record, site)
    call = record.call(site, index)
    if query is None:
        return matrix_text(call, head, batch)
    if key is None:
        return row_text(record, call, head, query, stage=stage, batch=batch)
    return f"{_named(record, call, batch, query, key)}\n{cell(call, batch, head, query, key)}"


def heads_text(record: Record, site: str | None = None, most: int = 40) -> str:
    """A table of what each head does, those that read most sharply first where there are many.

    Args:
        record: the run.
        site: only this one's heads.
        most: lines.
    """
    found: list[tuple[str, Doing]] = []
    for one in record.sites if site is None else (record.call(site).site,):
        widest = max(record.of(one), key=lambda call: (call.rows, call.keys))
        found += [(one.name, doing_of) for doing_of in doing(record, widest)]
    shown = found
    if len(found) > most:
        shown = sorted(found, key=lambda one: float("inf") if one[1].entropy is None else one[1].entropy)[:most]
    width = max(len("site"), *(len(name) for name, _ in shown))
    lines = [record.target or "a model"]
    lines.append(f"{'site':{width}}  head  " + "  ".join(f"{name:>{size}}" for name, size in COLUMNS))
    for name, one in shown:
        numbers = "  ".join(_number(getattr(one, column), size) for column, size in COLUMNS)
        lines.append(f"{name:{width}}  {one.head:>4}  {numbers}")
    if len(shown) < len(found):
        lines.append(f"the {len(shown)} of {len(found)} heads with the least entropy")
    lines.append("entropy in nats, distance in tokens, the rest weight: means over rows")
    return "\n".join(lines)


def matrix_text(call: Call, head: int, batch: int = 0, size: int = 48) -> str:
    """A picture of a head in characters: rows read, columns are read, the darkest cell of each character."""
    found = overview(call, head, shape=(size, size), batch=batch)
    steps = np.minimum(len(SHADES) - 1, np.ceil(found.max * (len(SHADES) - 1))).astype(int)
    lines = [f"{call.site.name}, head {head}: reads ↓, is read →; {found.step[0]} × {found.step[1]} cells a character"]
    for line, edges in zip(steps, found.edges, strict=True):
        lines.append("".join(" " if not here else SHADES[max(1, step)] for step, here in zip(line, edges, strict=True)))
    return "\n".join([*lines, f"{SHADES[1:]} weight from 0 to 1, the largest of its cells"])


def row_text(
    record: Record, call: Call, head: int, query: int, *, stage: str = "weights", batch: int = 0, most: int = 12
) -> str:
    """What one query reads, the most first."""
    name = canonical(stage)
    query = call.number(query, call.rows, "query")
    numbers = row(call, batch, head, query, name)
    order = np.argsort(-np.nan_to_num(numbers, nan=-np.inf, neginf=-np.inf), kind="stable")
    shown = [int(key) for key in order if np.isfinite(numbers[key]) and (name != "weights" or numbers[key] > 0)]
    lines = [f"{_named(record, call, batch, query)} of head {head} reads ({name})"]
    longest = max((abs(float(numbers[key])) for key in shown), default=0.0)
    for key in shown[:most]:
        bar = "█" * round(24 * abs(float(numbers[key])) / longest) if longest else ""
        lines.append(f"{numbers[key]:>9.4f}  {key:>6}  {_token(_read(record, call, batch), key):16}  {bar}".rstrip())
    if len(shown) > most:
        rest = sum(float(numbers[key]) for key in shown[most:])
        lines.append(f"and {len(shown) - most} more" + (f", {rest:.4f} together" if name == "weights" else ""))
    return "\n".join(lines if shown else [*lines, "nothing: it has no edge"])


def _named(record: Record, call: Call, batch: int, query: int, key: int | None = None) -> str:
    own = _token(_own(record, batch), query + call.position)
    said = f"{call.site.name}: query {query} {own}".rstrip()
    return said if key is None else f"{said}, key {key} {_token(_read(record, call, batch), key)}".rstrip()


def _own(record: Record, batch: int) -> Sequence[str]:
    return () if record.tokens is None or batch >= len(record.tokens) else record.tokens[batch]


def _read(record: Record, call: Call, batch: int) -> Sequence[str]:
    """The tokens that the keys are."""
    if call.site.kind == "self":
        return _own(record, batch)
    return () if record.source is None or batch >= len(record.source) else record.source[batch]


def _token(tokens: Sequence[str], at: int) -> str:
    """A token that is safe to print: what would move the cursor or hide is shown as its escape."""
    if not 0 <= at < len(tokens):
        return ""
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]", lambda one: ascii(one[0])[1:-1], repr(tokens[at])
    )


def _number(value: float | None, size: int) -> str:
    return f"{'·' if value is None else format(value, '.3f'):>{size}}"
