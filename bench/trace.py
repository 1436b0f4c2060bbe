"""What looking at attention costs: a plain forward pass beside edgewise and beside others' ways to the weights.

    python bench/trace.py --peers PYTHON [--threads 2] [--lengths 128 512 1024 2048 4096]

GPT-2's smallest shape (12 layers of 12 heads of 64), random weights, logits of the last token alone. PYTHON is an
interpreter with transformer-lens 4.3 and nnsight 0.8; without it they are left out. Each way lives in a process of its
own and they run in turns, so that seconds compare and memory is each one's own. Writes bench/trace.json.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from edgewise.graphs import causal
from edgewise.records import overview, row
from edgewise.tracing import statistics
from record import alternate, middle, write
from records import call
from trace_worker import measured

WORKER = Path(__file__).with_name("trace_worker.py")
SAYS = {
    "plain": "plain forward, fused attention",
    "capture": "edgewise, q k v, graph and out of every call",
    "statistics": "edgewise, statistics of every head and query",
    "eager": "transformers, eager with output_attentions",
    "lens": "TransformerLens, run_with_cache, everything",
    "lens patterns": "TransformerLens, run_with_cache, patterns",
    "nnsight": "nnsight, weights saved",
}
OURS = ("plain", "capture", "statistics")
PEERS = ("lens", "lens patterns", "nnsight")
# Everything that TransformerLens caches at 4,096 tokens is more than the memory of most machines.
LONGEST = {"lens": 2048}
HEADS, WIDTH = 12, 64

Answer = dict[str, float]


class Worker:
    """One way, in its process."""

    def __init__(self, name: str, python: str, threads: int) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, str(WORKER), name, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def ask(self, length: int, *words: str) -> Answer:
        """Return seconds and memory of one run."""
        assert self._process.stdin is not None
        print(length, *words, file=self._process.stdin, flush=True)
        return json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: the process ended with {self._process.wait()}")
        return line

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def rounds(name: str, length: int) -> int:
    """Return how often a way is timed at a length: what takes half a minute is not run again for its memory."""
    if length <= 1024:
        return 4
    return 2 if length <= 2048 or name in OURS else 0


def looked(workers: Sequence[Worker], lengths: Sequence[int]) -> dict[str, dict[int, list[Answer]]]:
    """Return the answers of all ways at all lengths, asked in turns; every other round goes backwards."""
    found: dict[str, dict[int, list[Answer]]] = {one.name: {} for one in workers}
    for worker in workers:
        worker.ask(128)  # to warm up
    for length in lengths:
        turns = [one for one in workers if length <= LONGEST.get(one.name, length)]
        for worker in turns:
            found[worker.name][length] = [worker.ask(length, "exactly")]
        for turn in range(4):
            for worker in turns if turn % 2 == 0 else reversed(turns):
                if turn < rounds(worker.name, length):
                    time.sleep(0.3)  # the threads of the way before spin a little while before they sleep
                    found[worker.name][length].append(worker.ask(length))
        for name, answers in found.items():
            if length in answers:
                print(length, name, *(f"{one['seconds']:.2f} s {one['mb']:.0f} MB" for one in answers[length]))
    return found


def tables_of(found: dict[str, dict[int, list[Answer]]], lengths: Sequence[int]) -> list[dict[str, Any]]:
    """Return seconds, memory, and how they compare."""

    def of(name: str, length: int, what: str) -> float | None:
        memory, *timed = found.get(name, {}).get(length) or [None]
        if memory is None:
            return None
        return memory["mb"] if what == "mb" else middle([one["seconds"] for one in timed or [memory]])

    def table(title: str, number: Callable[[str, int], str | None], names: Sequence[str]) -> dict[str, Any]:
        rows = [[SAYS[name], *(number(name, length) or "–" for length in lengths)] for name in names]
        return {"title": title, "columns": ["way", *(f"{length:,} tokens" for length in lengths)], "rows": rows}

    def shown(what: str, form: str) -> Callable[[str, int], str | None]:
        def number(name: str, length: int) -> str | None:
            value = of(name, length, what)
            return None if value is None else format(value, form)

        return number

    def against(what: str, other: str) -> Callable[[str, int], str | None]:
        def number(name: str, length: int) -> str | None:
            one, base = of(name, length, what), of(other, length, what)
            return None if one is None or not base else f"{one / base:.2f}×"

        return number

    names = list(found)
    return [
        table("Seconds", shown("seconds", ".2f"), names),
        table("Memory at most, MB beyond the model", shown("mb", ",.0f"), names),
        table("Seconds, against the plain forward", against("seconds", "plain"), names[1:]),
        table("Seconds, against edgewise's statistics", against("seconds", "statistics"), [*names[:1], *names[3:]]),
        table("Memory, against edgewise's statistics", against("mb", "statistics"), [*names[:1], *names[3:]]),
    ]


def layers(lengths: Sequence[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the statistics of one layer, at lengths that a model may reach."""
    rows: list[list[str]] = []
    raw: dict[str, Any] = {}
    for length in lengths:
        generator = torch.Generator().manual_seed(length)
        query, key = torch.randn(2, 1, length, HEADS, WIDTH, generator=generator).transpose(2, 3)
        job: Any = lambda _, query=query, key=key: statistics(query, key, causal())  # noqa: E731
        answers = [measured(job, 1, exactly=turn == 0) for turn in range(2 if length > 8192 else 5)]
        seconds = middle([one["seconds"] for one in answers[1:]])
        cells = HEADS * causal().count(length, length)
        rows.append([f"{length:,}", f"{seconds * 1e3:.0f}", f"{cells / seconds / 1e9:.2f}", f"{answers[0]['mb']:.0f}"])
        raw[str(length)] = answers
        print("statistics", *rows[-1], flush=True)
    columns = ["tokens", "ms", "billion allowed cells a second", "MB at most"]
    title = f"Statistics of one causal layer of {HEADS} heads of {WIDTH}, float32"
    return {"title": title, "columns": columns, "rows": rows}, raw


def long_inputs() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a row and pictures of long inputs."""
    short, long = call(4096), call(32768)
    seen = overview(long, 0)
    jobs: dict[str, Callable[[], Any]] = {
        "all weights of one query, 4,096 tokens": lambda: row(short, 0, 0, -1),
        "512 × 512 picture of one head, 32,768 tokens": lambda: overview(long, 0),
        "its lower left quarter": lambda: seen.zoom(slice(16384, None), slice(None, 16384)),
        "a 64th of it": lambda: seen.zoom(slice(16384, 20480), slice(0, 4096)),
    }
    taken = alternate(jobs, 3)
    rows = [[name, f"{middle(seconds) * 1e3:.1f}"] for name, seconds in taken.items()]
    print(*rows, sep="\n", flush=True)
    return {"title": "Parts of a matrix that is never held", "columns": ["what", "ms"], "rows": rows}, taken


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="an interpreter with transformer-lens and nnsight")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096])
    parser.add_argument("--layers", type=int, nargs="*", default=[1024, 2048, 4096, 8192, 16384, 32768])
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    ways = [name for name in SAYS if given.peers or name not in PEERS]
    workers = [Worker(name, given.peers if name in PEERS else sys.executable, given.threads) for name in ways]
    try:
        found = looked(workers, given.lengths)
    finally:
        for worker in workers:
            worker.close()
    one, raw = layers(given.layers)
    parts, taken = long_inputs()
    notes = [
        "GPT-2's smallest shape, random weights, float32, one sequence, inference mode, the logits of the last token "
        "alone. Medians of four runs in turns, of two from 2,048 tokens; one run of eager and the others at 4,096.",
        "Memory is the largest resident set during one more run beyond that before it, in each way's own process, with "
        "the C library told to give back what is freed.",
        "Capture and statistics include computing a few rows of every call again, which proves that what was seen "
        "explains the output. Statistics are nine numbers for each of the 144 heads and every query.",
        "TransformerLens 4.3.0 and nnsight 0.8.1 run the same transformers model with eager attention.",
    ]
    tables = [*tables_of(found, given.lengths), one, parts]
    raw_all = {"ways": found, "layers": raw, "parts": taken}
    print("wrote", write(__file__, "Looking at attention", given.threads, tables, notes, raw_all).name)


if __name__ == "__main__":
    main()
