"""Worker processes: what kills one spoils its own row alone."""

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from edgewise.cli.workers import Worker, survey

ANSWERS = """
import json, sys, time
for name in sys.stdin:
    {}
    print("row:", json.dumps({{"outcome": name.strip()}}), flush=True)
"""


def command(last: str = "pass") -> list[str]:
    """A worker that does something before it answers with the name that it was asked for."""
    return [sys.executable, "-c", ANSWERS.format(last)]


@pytest.mark.parametrize(
    ("last", "seconds", "why"),
    [
        ("sys.exit(3)", 60, "its process ended with status 3"),
        ("time.sleep(60)", 0.5, "took longer than 0.5 s"),
    ],
)
def test_a_process_that_dies_or_hangs_spoils_its_own_row_alone(last: str, seconds: float, why: str) -> None:
    worker = Worker(command(f"{last} if name.strip() == 'bad' else None"), seconds)
    assert worker.row("bad") == {"outcome": "failed", "why": why}
    worker = Worker(command(), 60)
    assert [worker.row(name)["outcome"] for name in ("one", "two")] == ["one", "two"]
    worker.close()


def test_every_name_has_a_row_and_what_is_left_is_told() -> None:
    rows: dict[str, Any] = {}
    times: list[tuple[int, float]] = []

    def keep(name: str, row: dict[str, Any], done: int, left: float) -> None:
        rows[name] = row["outcome"]
        times.append((done, left))

    survey([str(number) for number in range(30)], command(), keep, workers=2, seconds=60)
    assert rows == {str(number): str(number) for number in range(30)}
    assert [done for done, _ in times] == list(range(1, 31))
    assert times[-1][1] == 0


def test_what_making_a_row_raises_or_prints_is_no_end_of_the_worker() -> None:
    code = (
        "from edgewise.cli.workers import serve\n"
        "def row(name):\n"
        "    print('noise')\n"
        "    return {'outcome': 1 / int(name)}\n"
        "serve(row)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="0\n2\n", capture_output=True, text=True, env={**os.environ}
    )
    lines = [json.loads(line.removeprefix("row: ")) for line in io.StringIO(done.stdout)]
    assert lines == [{"outcome": "failed", "why": "ZeroDivisionError: division by zero"}, {"outcome": 0.5}]
