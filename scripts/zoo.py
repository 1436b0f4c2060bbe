"""Traces every architecture of transformers, small and random, and writes what came of it as docs/zoo.json.

Each type runs in a process of workers, so that a crash or a hang spoils its own row and nothing else. Rows are written
as they come; a run that is cut off goes on where it was, when begun again as it was begun. A run of --again goes to
a file beside the table, which takes its place when the last row is there. What is counted from below
(scripts/census.py) says whether attention was missed.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zoo_row import row

from edgewise.cli.workers import serve, survey

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, __file__, "--worker"]


def work() -> None:
    """Answer each name on standard input with a row on standard output."""
    import warnings

    warnings.simplefilter("ignore")
    import transformers

    transformers.logging.set_verbosity_error()
    serve(row)


class Table:
    """The rows by type, on disk as soon as they are there.

    Args:
        out: the file.
        whole: where the file goes when all is done; None for where it is.
    """

    def __init__(self, out: Path, whole: Path | None = None) -> None:
        from edgewise.tracing.tiny import types

        self._out, self._whole = out, whole
        held: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
        before: dict[str, Any] = json.loads(whole.read_text(encoding="utf-8")) if whole and whole.is_file() else {}
        self._by_hand = held.get("by_hand", before.get("by_hand", []))
        self.rows = {one["type"]: one for one in held.get("rows", []) if one["type"] in types()}

    def write(self) -> None:
        """Write the rows in one instant, with what they were made with."""
        new = self._out.with_suffix(".new")
        new.write_text(text(list(self.rows.values()), self._by_hand), encoding="utf-8")
        new.replace(self._out)

    def close(self) -> None:
        """Put the whole table in its place."""
        if self._whole is not None:
            self._out.replace(self._whole)


def text(rows: list[dict[str, Any]], by_hand: list[dict[str, Any]]) -> str:
    """Return the file: a line for each row, in the order of names."""
    from importlib.metadata import PackageNotFoundError, version

    made = {"date": datetime.now(UTC).date().isoformat()}
    for name in ("torch", "transformers", "timm", "scipy"):
        with contextlib.suppress(PackageNotFoundError):
            made[name] = version(name)
    several = (
        ",\n".join(json.dumps(one, ensure_ascii=False) for one in sorted(part, key=_name)) for part in (rows, by_hand)
    )
    types_of, ours = several
    return f'{{"made": {json.dumps(made)},\n"rows": [\n{types_of}\n],\n"by_hand": [\n{ours}\n]}}\n'


def _name(row: dict[str, Any]) -> str:
    return row["type"]


def fill(names: list[str], table: Table, workers: int, seconds: float) -> None:
    """Fill in the rows of some types, and write them all as each comes."""
    from edgewise.tracing.tiny import types

    kinds, began = types(), time.perf_counter()

    def keep(name: str, found: dict[str, Any], done: int, _: float) -> None:
        table.rows[name] = {"type": name, "kind": kinds[name], **found}
        table.write()
        print(_progress(done, len(names), time.perf_counter() - began, table.rows[name]), flush=True)

    survey(names, COMMAND, keep, workers=workers, seconds=seconds)


def _progress(done: int, of: int, seconds: float, row: dict[str, Any]) -> str:
    left = round(seconds / done * (of - done))
    rate = f"{done / seconds * 60:.0f} a minute, {left // 60}:{left % 60:02} left"
    return f"{done}/{of}  {row['type']}: {row['outcome']}  ({rate})"


def main() -> int:
    """Run what is asked for and return the exit status."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("types", nargs="*", help="only these, again if they have a row (default: all without a row)")
    asked.add_argument("--again", action="store_true", help="all, those with a row too")
    asked.add_argument("--failed", action="store_true", help="those that were not captured, again")
    asked.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: as many as cores)")
    asked.add_argument("--seconds", type=float, default=120, help="at most, for each type (default: 120)")
    asked.add_argument("--out", type=Path, default=ROOT / "docs" / "zoo.json")
    asked.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.worker:
        work()
        return 0
    from edgewise.tracing.tiny import types

    table = Table(given.out.with_suffix(".part"), given.out) if given.again else Table(given.out)
    good = ("captured", "no softmax attention")
    names = given.types or [
        name for name in types() if name not in table.rows or (given.failed and table.rows[name]["outcome"] not in good)
    ]
    fill(names, table, given.workers, given.seconds)
    table.close()
    outcomes = Counter(one["outcome"] for one in table.rows.values())
    print(", ".join(f"{many} {outcome}" for outcome, many in outcomes.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
