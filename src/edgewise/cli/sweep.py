"""`edgewise check --tiny all`: every architecture, small and random, in worker processes, as a table."""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.errors import ArgumentError, DataError, EdgewiseError

if TYPE_CHECKING:
    from edgewise.checks import Report

__all__ = ["sweep", "table", "told"]

SECONDS, BUDGET = 180.0, 60.0
"""That a process may take for one type, and that looking may take of them."""
KEPT = "zoo-check.json"


def sweep(arguments: argparse.Namespace) -> int:
    """Check every type that has no row yet, keep each row as it comes, and print the table of all."""
    from edgewise.cli.workers import survey
    from edgewise.tracing.tiny import tasks, types

    if arguments.target is not None:
        raise ArgumentError(f"wanted one model to look at: got {arguments.target} and --tiny all")
    path = Path(arguments.resume or KEPT).expanduser()
    rows = _held(path)
    several = {name: tasks(name) for name in types()}
    names = [f"{name}:{task}" if len(each) > 1 else name for name, each in several.items() for task in each]
    left = [name for name in names if name not in rows]

    def keep(name: str, row: dict[str, Any], done: int, seconds: float) -> None:
        rows[name] = {"name": name, **row}
        _write(rows, path)
        print(f"{done}/{len(left)}  {name}: {row['outcome']}  ({seconds:.0f} s left)", file=sys.stderr, flush=True)

    command = [sys.executable, "-m", "edgewise.cli.sweep", json.dumps(_asked(arguments))]
    survey(left, command, keep, workers=arguments.workers or os.cpu_count() or 1, seconds=SECONDS)
    told = {name: rows[name] for name in names if name in rows}
    if arguments.json:
        print(json.dumps({"schema": 1, "rows": list(told.values())}, ensure_ascii=False, indent=2))
    else:
        print(table(told))
        print(f"rows are kept in {path}; a type without a row is checked by the next run")
    outcomes = {row["outcome"] for row in told.values()}
    return 1 if "fails" in outcomes else 0


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what came of all types: those that fail one by one, the rest counted."""
    lines = [
        f"{name:<28} {row['outcome']:<16} {row.get('why', '')}".rstrip()
        for name, row in rows.items()
        if row["outcome"] not in ("holds", "not built")
    ]
    many = Counter(row["outcome"] for row in rows.values())
    return "\n".join([*lines, ", ".join(f"{count} {outcome}" for outcome, count in many.most_common())])


def row(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what came of one type, or of one task of it."""
    from edgewise.checks import check, described
    from edgewise.tracing import tiny_target

    began = time.perf_counter()
    try:
        target = tiny_target(name, seed=asked["seed"])
    except EdgewiseError as error:
        return {"outcome": "not built", "why": str(error)[:300]}
    built = time.perf_counter() - began
    try:
        report = check(target, **asked)
    except EdgewiseError as error:
        return {"outcome": "not told", "why": str(error)[:300]}
    outcome, why = told(report)
    times = {"built": round(built, 2), "seconds": round(report.seconds, 2), "passes": report.passes}
    return {"outcome": outcome, "why": why, **times, "report": described(report)}


def told(report: "Report") -> tuple[str, str]:
    """Return what came of a check in a word, and why: what fails, or where time ran out."""
    causes = [f"{one.cause.property} {one.cause.kind}: {one.cause.measured}" for one in report.failures]
    late = [one.name for one in report.results if one.status == "skip" and one.why.startswith("time ran out")]
    if causes:
        return "fails", "; ".join(causes)
    if report.exit_status:
        return "not told", report.verdict
    return ("holds in part", f"time ran out at {', '.join(late)}") if late else ("holds", "")


def _asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what every type is checked with, as plain values: what is meant is told by each config."""
    names = ("only", "skip", "seed", "length")
    return {name: getattr(arguments, name) for name in names} | {"budget": arguments.budget or BUDGET}


def _held(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        return {one["name"]: one for one in json.loads(path.read_text(encoding="utf-8"))["rows"]}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} holds no rows of a sweep ({type(error).__name__}): name another with --resume"
        ) from None


def _write(rows: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Write the rows in one instant, with what they were made with."""
    from importlib.metadata import version

    made = {"date": datetime.now(UTC).date().isoformat()} | {name: version(name) for name in ("torch", "transformers")}
    new = path.with_suffix(".new")
    lines = ",\n".join(json.dumps(rows[name], ensure_ascii=False) for name in sorted(rows))
    new.write_text(f'{{"made": {json.dumps(made)},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    new.replace(path)


def _work(asked: Mapping[str, Any]) -> None:
    import warnings

    import torch

    from edgewise.cli.workers import serve

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    import transformers

    transformers.logging.set_verbosity_error()
    serve(lambda name: row(name, asked))


if __name__ == "__main__":
    _work(json.loads(sys.argv[1]))
