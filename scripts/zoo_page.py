"""The page of the zoo: docs/zoo.json as tables."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

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
    with_softmax = [one for one in rows if one["outcome"] in SOFTMAX]
    captured = [one for one in rows if one["outcome"] == "captured"]
    exact = sum(one["difference"] == 0 for one in captured)
    said = (
        f"Of {len(rows):,} types, {len(with_softmax):,} were built small and contain softmax attention; of these "
        f"**{len(captured):,} ({len(captured) / max(1, len(with_softmax)):.1%}) are captured whole**, each call "
        f"explained up to rounding, {exact:,} of them with every output equal to an untouched run's, bit for bit. "
        f"Made {made['date']} with torch {made['torch']}, transformers {made['transformers']}.\n"
    )
    return "\n".join(
        [said, _by_kind(rows), "## Not captured whole, and why\n", _why(rows), "## Every type\n", _all(rows)]
    )


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
    table = [[f"`{one['type']}`", one["outcome"], _missed(one) + _plain(one.get("why", ""))] for one in lost]
    return _table(["type", "outcome", "why"], sorted(table, key=lambda row: (OUTCOMES.index(row[1]), row[0])))


def _all(rows: list[dict[str, Any]]) -> str:
    table = [
        [
            f"`{one['type']}`",
            one.get("kind", ""),
            one.get("reads", ""),
            one["outcome"] if one["outcome"] != "captured" else "",
            f"{one['captured']} of {max(one['calls'], one['captured'])}" if "captured" in one else "",
            ", ".join(f"{name} {many}" for name, many in one.get("routes", {}).items()),
            f"{one['residual']:.0e}" if one.get("residual") is not None else "",
            _proof(one),
            f"{one['seconds']:.1f}" if "seconds" in one else "",
        ]
        for one in rows
    ]
    return _table(["type", "kind", "reads", "", "calls", "routes", "residual", "outputs", "seconds"], table)


def _proof(one: dict[str, Any]) -> str:
    if "difference" not in one:
        return ""
    return "bit for bit" if one["difference"] == 0 else f"{one['difference']:.0e} (noise {one['noise']:.0e})"


def _missed(one: dict[str, Any]) -> str:
    return f"{one['missed']} of {one['calls']} calls; " if one.get("missed") else ""


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "/").replace("<", "‹").replace(">", "›").split())[:220]


def _table(columns: list[str], rows: list[list[Any]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
