"""What the benchmarks share: jobs timed in turns, the machine in a sentence, and the JSON that docs are made from."""

import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

__all__ = ["alternate", "machine", "middle", "write"]


def alternate(jobs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each job in each round: one call each to warm up, then all in turns.

    On a shared machine two numbers measured one after the other compare two moments; numbers measured in turns compare
    two jobs. Every other round goes backwards.
    """
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for turn in range(rounds):
        for name in list(jobs) if turn % 2 == 0 else reversed(list(jobs)):
            begun = time.perf_counter()
            jobs[name]()
            taken[name].append(time.perf_counter() - begun)
    return taken


def middle(seconds: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(seconds)


def machine(threads: int) -> str:
    """Return what a reader must know of the machine, in one sentence."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        names = [
            line.partition(":")[2].strip() for line in cpus.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    capability = torch.backends.cpu.get_cpu_capability()
    return (
        f"{model}, {os.cpu_count()} CPUs, {threads} thread{'s' * (threads != 1)}, {capability}; "
        f"Python {platform.python_version()}, torch {torch.__version__}."
    )


def write(
    script: str,
    title: str,
    threads: int,
    tables: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    raw: Mapping[str, Any],
) -> Path:
    """Write the JSON beside the script of the same name and return its path.

    `tables` are mappings of title, columns and rows; `raw` is kept as it is, for whoever wants the single timings.
    """
    path = Path(script).with_suffix(".json")
    held = {
        "title": title,
        "date": datetime.date.today().isoformat(),
        "machine": machine(threads),
        "tables": list(tables),
        "notes": list(notes),
        "raw": dict(raw),
    }
    path.write_text(json.dumps(held, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
