"""Traces every architecture of transformers, small and random, and writes what came of it as docs/zoo.json.

Each type runs in a process of workers, so that a crash or a hang spoils its own row and nothing else. Rows are written
as they come; a run that is cut off goes on where it was. What is counted from below (scripts/census.py) says whether
attention was missed.
"""

import argparse
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MARK = "row: "
COMMAND = [sys.executable, __file__, "--worker"]
LIFE = 20
"""Types that one worker runs before it makes room for a fresh one."""


def row(name: str) -> dict[str, Any]:
    """Build one type small, trace it, and say what came of it."""
    import torch
    from census import Census

    from edgewise.errors import EdgewiseError
    from edgewise.tracing import called, record
    from edgewise.tracing.tiny import tiny, types

    found: dict[str, Any] = {"type": name, "kind": types()[name]}
    began = time.perf_counter()
    try:
        made = tiny(name)
    except EdgewiseError as error:
        return found | {"outcome": "not built", "why": str(error).removeprefix(f"{name} ")}
    found |= {
        "reads": made.reads,
        "size": made.level,
        "parameters": sum(one.numel() for one in made.model.parameters()),
    }
    with torch.no_grad(), torch.random.fork_rng(devices=()), Census(made.model) as census:
        called(made.model, made.inputs)
    found["calls"] = census.calls
    if not census.calls:
        return found | {"outcome": "no softmax attention", "seconds": round(time.perf_counter() - began, 2)}
    try:
        seen = record(made.model, made.inputs, check="all")
    except Exception as error:  # what fails while it is looked at is not captured, whatever the reason
        told = str(error) if isinstance(error, EdgewiseError) else f"{type(error).__name__}: {error}"
        return found | {"outcome": "not captured", "why": told[:300]}
    residuals = [call.residual for call in seen.calls if call.residual == call.residual]
    missed = max(0, census.calls - len(seen.calls))
    return found | {
        "outcome": "captured in part" if missed else "captured",
        "captured": len(seen.calls),
        "missed": missed,
        "why": "; ".join(f"{site}: {why}" for site, why in dict(seen.inputs.get("unexplained", {})).items())[:300],
        "routes": dict(Counter(call.route for call in seen.calls)),
        "residual": max(residuals, default=None),
        "difference": seen.proof.difference,
        "noise": seen.proof.noise if seen.proof.difference else 0.0,
        "seconds": round(time.perf_counter() - began, 2),
    }


def work() -> None:
    """Answer each name on standard input with a row on standard output."""
    import warnings

    warnings.simplefilter("ignore")
    import transformers

    transformers.logging.set_verbosity_error()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what models print is no row
    for name in sys.stdin:
        try:
            found = row(name.strip())
        except Exception as error:
            found = {"outcome": "failed", "why": f"{type(error).__name__}: {str(error)[:300]}"}
        answers.write(MARK + json.dumps(found) + "\n")
        answers.flush()


def _end(process: subprocess.Popen[str], slow: threading.Event) -> None:
    slow.set()
    process.kill()


class Worker:
    """A process that makes rows, begun anew after a crash, a hang, or its share of types."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._process, self._left = seconds, None, 0

    def row(self, name: str) -> dict[str, Any]:
        """Return the row of a type, whatever happens to the process."""
        if self._process is None or not self._left:
            self.close()
            self._begin()
        self._left -= 1
        assert self._process is not None
        slow = threading.Event()
        late = threading.Timer(self._seconds, _end, (self._process, slow))
        late.start()
        try:
            self._process.stdin.write(name + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
            line = self._process.stdout.readline()  # type: ignore[union-attr]
        except BrokenPipeError:
            line = ""
        late.cancel()
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
        status = self._process.wait()
        self.close()
        why = f"took longer than {self._seconds:g} s" if slow.is_set() else f"its process ended with status {status}"
        return {"outcome": "failed", "why": why}

    def _begin(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(COMMAND, text=True, **pipes)
        self._left = LIFE

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()  # closes its pipes too
        self._process = None


def survey(names: list[str], rows: dict[str, Any], workers: int, seconds: float, out: Path) -> None:
    """Fill in the rows of some types, and write them all as each comes."""
    from edgewise.tracing.tiny import types

    kinds = types()
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    lock, began, done = threading.Lock(), time.perf_counter(), 0

    def serve() -> None:
        nonlocal done
        worker = Worker(seconds)
        while True:
            with contextlib.suppress(queue.Empty):
                name = waiting.get_nowait()
                found = worker.row(name)
                with lock:
                    done += 1
                    rows[name] = {"type": name, "kind": kinds[name], **found}
                    write(rows, out)
                    left = (time.perf_counter() - began) / done * (len(names) - done)
                    print(f"{done}/{len(names)}  {name}: {found['outcome']}  ({left:.0f} s left)", flush=True)
                continue
            break
        worker.close()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def write(rows: dict[str, Any], out: Path) -> None:
    """Write the rows in one instant, with what they were made with."""
    from importlib.metadata import version

    made = {"date": datetime.now(UTC).date().isoformat()} | {name: version(name) for name in ("torch", "transformers")}
    new = out.with_suffix(".new")
    lines = ",\n".join(json.dumps(rows[name], ensure_ascii=False) for name in sorted(rows))
    new.write_text(f'{{"made": {json.dumps(made)},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    new.replace(out)


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

    held = json.loads(given.out.read_text(encoding="utf-8"))["rows"] if given.out.is_file() else []
    rows = {one["type"]: one for one in held if one["type"] in types()}
    good = ("captured", "no softmax attention")
    names = given.types or [
        name
        for name in types()
        if given.again or name not in rows or (given.failed and rows[name]["outcome"] not in good)
    ]
    survey(names, rows, given.workers, given.seconds, given.out)
    print(", ".join(f"{many} {outcome}" for outcome, many in Counter(one["outcome"] for one in rows.values()).items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
