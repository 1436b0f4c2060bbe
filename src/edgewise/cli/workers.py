"""Rows made by worker processes: a crash or a hang spoils its own row, and a run that is cut off goes on where it was.

A worker reads names on its standard input and answers each with a row, one line of JSON, on its standard output.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Worker", "serve", "survey"]

MARK = "row: "
LIFE = 20
"""Names that one worker answers before it makes room for a fresh one."""

Row = dict[str, Any]


def serve(row: Callable[[str], Row]) -> None:
    """Answer each name on standard input with its row on standard output, whatever making it raises.

    Args:
        row: makes the row of a name.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what models print is no row
    for name in sys.stdin:
        try:
            found = row(name.strip())
        except Exception as error:
            found = {"outcome": "failed", "why": f"{type(error).__name__}: {str(error)[:300]}"}
        answers.write(MARK + json.dumps(found) + "\n")
        answers.flush()


class Worker:
    """A process that makes rows, begun anew after a crash, a hang, or its share of names.

    Args:
        command: begins the process.
        seconds: that one row may take.
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command, self._seconds = command, seconds
        self._process: subprocess.Popen[str] | None = None
        self._left = 0

    def row(self, name: str) -> Row:
        """Return the row of a name, whatever happens to the process."""
        if self._process is None or not self._left:
            self.close()
            pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
            self._process = subprocess.Popen(self._command, text=True, stdin=pipe, stdout=pipe, stderr=nothing)
            self._left = LIFE
        self._left -= 1
        process, slow = self._process, threading.Event()
        assert process.stdin is not None
        assert process.stdout is not None

        def end() -> None:
            slow.set()
            process.kill()

        late = threading.Timer(self._seconds, end)
        late.start()
        try:
            process.stdin.write(name + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        late.cancel()
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
        status = process.wait()
        self.close()
        why = f"took longer than {self._seconds:g} s" if slow.is_set() else f"its process ended with status {status}"
        return {"outcome": "failed", "why": why}

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()  # closes its pipes too
        self._process = None


def survey(
    names: Sequence[str],
    command: Sequence[str],
    keep: Callable[[str, Row, int, float], None],
    *,
    workers: int,
    seconds: float,
) -> None:
    """Make the row of each name, in several processes.

    Args:
        names: what to make rows of.
        command: begins a worker.
        keep: told of each row as it comes, of one at a time: name, row, rows done, seconds that are left.
        workers: processes.
        seconds: that one row may take.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    lock, began, done = threading.Lock(), time.perf_counter(), 0

    def work() -> None:
        nonlocal done
        worker = Worker(command, seconds)
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                break
            found = worker.row(name)
            with lock:
                done += 1
                keep(name, found, done, (time.perf_counter() - began) / done * (len(names) - done))
        worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
