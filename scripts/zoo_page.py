"""The page of the zoo: docs/zoo.json as tables."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from zoo_reasons import INSTEAD, WHY

__all__ = ["zoo"]

FILE = Path(__file__).resolve().parents[1] / "docs" / "zoo.json"
SOFTMAX = ("captured", "captured in part", "not captured")
OUTCOMES = (*SOFTMAX, "no softmax attention", "not built", "failed")


def zoo() -> str:
    """Return what came of tracing every architecture: in all, by kind, those that did not work, and every row."""
    if not FILE.is_file():
        return "Not made yet: run scripts/zoo.\n"
    held = json.loads(FILE.read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = held["rows"]
    made = held["made"]
    softmax = [one for one in rows if one["outcome"] in SOFTMAX]
    captured = [one for one in rows if one["outcome"] == "captured"]
    exact = sum(one["difference"] == 0 for one in captured)
    versions = ", ".join(f"{name} {made[name]}" for name in made if name != "date")
    said = (
        f"Of {len(rows):,} types, {len(softmax):,} were built small and contain softmax attention; of these "
        f"**{len(captured):,} ({len(captured) / max(1, len(softmax)):.1%}) are captured whole**, each call "
        f"explained up to rounding, {exact:,} of them with every output equal to an untouched run's, bit for bit. "
        f"Made {made['date']} with {versions}. Seconds are those of one processor: to "
        "build it, to find what it reads, and to trace it with every row checked.\n"
    )
    parts = [said, _by_kind(rows), "## Not captured whole, and why\n", _why(rows)]
    parts += ["## Without softmax attention\n", _instead(rows)]
    if held.get("by_hand"):
        parts += ["## Other code\n", _by_hand(held["by_hand"])]
    return "\n".join([*parts, "## Every type\n", _all(rows)])


def _by_kind(rows: list[dict[str, Any]]) -> str:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for one in rows:
        kinds[one.get("kind", "other")][one["outcome"]] += 1
    table = [
        [kind, sum(many.values()), *(many[outcome] for outcome in OUTCOMES)] for kind, many in sorted(kinds.items())
    ]
    table.append(["**all**", len(rows), *(sum(many[outcome] for many in kinds.values()) for outcome in OUTCOMES)])
    return _table(["kind", "types", *OUTCOMES], table)


def _why(rows: list[dict[str, Any]]) -> str:
    lost = [one for one in rows if one["outcome"] not in ("captured", "no softmax attention")]
    table = [
        [f"`{one['type']}`", one["outcome"], _missed(one) + _plain(WHY.get(one["type"], one.get("why", "")))]
        for one in lost
    ]
    return _table(["type", "outcome", "why"], sorted(table, key=lambda row: (OUTCOMES.index(row[1]), row[0])))


def _instead(rows: list[dict[str, Any]]) -> str:
    """Return what architectures have in attention's place, those with the same in one line."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for one in rows:
        if one["outcome"] == "no softmax attention":
            kinds[INSTEAD.get(one["type"], "?")].append(f"`{one['type']}`")
    return _table(["in its place", "types"], [[what, ", ".join(names)] for what, names in sorted(kinds.items())])


def _by_hand(rows: list[dict[str, Any]]) -> str:
    """Return the rows of other packages, and of code that people write by hand."""
    table = [
        [
            one["type"],
            one["outcome"] if one["outcome"] != "captured" else "",
            *_seen(one),
            _plain(one.get("why", "")) if one["outcome"] != "captured" else "",
        ]
        for one in rows
    ]
    said = (
        "`scripts/zoo_by_hand.py` traces what is installed of these packages, small or at their own size, and "
        "checkouts whose folders it is given.\n\n"
    )
    return said + _table(["model", "", "calls", "routes", "residual", "outputs", "seconds", "why"], table)


def _all(rows: list[dict[str, Any]]) -> str:
    table = [
        [
            f"`{one['type']}`",
            one.get("kind", ""),
            one.get("reads", ""),
            one["outcome"] if one["outcome"] != "captured" else "",
            *_seen(one),
        ]
        for one in rows
    ]
    return _table(["type", "kind", "reads", "", "calls", "routes", "residual", "outputs", "seconds"], table)


def _seen(one: dict[str, Any]) -> list[str]:
    return [
        f"{one['captured']} of {max(one['calls'], one['captured'] + one['missed'])}" if "captured" in one else "",
        ", ".join(f"{name} {many}" for name, many in one.get("routes", {}).items()),
        f"{one['residual']:.0e}" if one.get("residual") is not None else "",
        _proof(one),
        f"{one['seconds']:.1f}" if "seconds" in one else "",
    ]


def _proof(one: dict[str, Any]) -> str:
    if "difference" not in one:
        return ""
    return "bit for bit" if one["difference"] == 0 else f"{one['difference']:.0e} (noise {one['noise']:.0e})"


def _missed(one: dict[str, Any]) -> str:
    return (
        f"{one['missed']} of {max(one['calls'], one['captured'] + one['missed'])} calls; " if one.get("missed") else ""
    )


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "/").replace("<", "‹").replace(">", "›").split())[:220]


def _table(columns: list[str], rows: list[list[Any]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
