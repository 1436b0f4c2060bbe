"""Structured graphs on a CPU: `attend` beside the fused function with a dense boolean mask, and its own overhead.

    python bench/attend.py [--threads 2] [--rounds 5] [--lengths 4096 8192]

8 heads of 64. Each pair is first shown to agree, then timed in turns, forward and forward with backward. Memory is
measured in a process of its own for each call. Writes bench/attend.json.
"""

import argparse
import ctypes
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from edgewise.attention import attend, route_of
from edgewise.graphs import Graph, causal, chunks, documents, prefix, window
from record import alternate, middle, write

HEADS, WIDTH = 8, 64
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Products of a cell: two forward, five backward, a multiplication and an addition for each number of a head.
FORWARD, BOTH = 4 * WIDTH, 14 * WIDTH
OVERHEAD = (256, 512, 1024)


def graphs(length: int) -> dict[str, Graph]:
    """Return the graphs that are timed at one length."""
    packed = documents(cumulative=range(0, length + 1, 512))
    return {
        "window(256)": window(256),
        "documents of 512": packed,
        "documents of 512 & causal()": packed & causal(),
        "chunks(512) & causal()": chunks(512) & causal(),
        "prefix(1024)": prefix(1024),
    }


def inputs(length: int, dtype: torch.dtype, *, gradients: bool) -> list[Tensor]:
    """Return query, key and value."""
    torch.manual_seed(0)
    return [torch.randn(1, HEADS, length, WIDTH, dtype=dtype, requires_grad=gradients) for _ in range(3)]


def jobs(name: str, length: int, dtype: torch.dtype, *, gradients: bool) -> dict[str, Callable[[], Any]]:
    """Return the two ways to compute one graph, each with its backward pass where gradients are asked for."""
    graph = graphs(length)[name]
    tensors = inputs(length, dtype, gradients=gradients)
    mask = torch.from_numpy(graph.dense(length, length))
    towards = torch.randn_like(tensors[0])
    ways: dict[str, Callable[[], Tensor]] = {
        "dense": lambda: scaled_dot_product_attention(*tensors, attn_mask=mask),
        "attend": lambda: attend(*tensors, graph),
    }
    if not gradients:
        return dict(ways)
    return {
        "dense": lambda: torch.autograd.grad(ways["dense"](), tensors, towards),
        "attend": lambda: torch.autograd.grad(ways["attend"](), tensors, towards),
    }


def agree(pair: dict[str, Callable[[], Any]], dtype: torch.dtype) -> None:
    """Stop unless both ways give the same numbers, up to rounding."""
    found, wanted = pair["attend"](), pair["dense"]()
    tolerance = 1e-4 if dtype == torch.float32 else 6e-2
    for one, other in zip(*((one if isinstance(one, tuple) else (one,)) for one in (found, wanted)), strict=True):
        torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def memory(name: str, length: int, kind: str, gradients: bool, way: str, threads: int) -> float:
    """Return the MB by which one call raises the most memory that a fresh process has held; the mask counts."""
    words = ["--memory", name, str(length), kind, str(int(gradients)), way, "--threads", str(threads)]
    said = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    return float(said.stdout)


def measure_memory(words: Sequence[str]) -> None:
    """Print what `memory` asks for, in its process."""
    name, length, kind, gradients, way = words[0], int(words[1]), DTYPES[words[2]], bool(int(words[3])), words[4]
    jobs("window(256)", 1024, kind, gradients=gradients)[way]()
    pair = jobs(name, length, kind, gradients=gradients)
    # Linux forgets the largest resident set so far when asked in this way: building the mask does not count, and what
    # that left free is given back first.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    if pair[way]() is None:
        raise SystemExit("nothing was computed")
    print(resident("VmHWM") - before + (length * length / 2**20 if way == "dense" else 0))


def resident(field: str) -> float:
    """Return a line of this process's status in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def structured(lengths: Sequence[int], rounds: int, threads: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a table for each length, and the single timings."""
    tables: list[dict[str, Any]] = []
    raw: dict[str, Any] = {}
    for length in lengths:
        rows: list[list[Any]] = []
        for name, graph in graphs(length).items():
            cells = HEADS * graph.count(length, length)
            for kind, dtype in DTYPES.items():
                for gradients in (False, True):
                    pair = jobs(name, length, dtype, gradients=gradients)
                    agree(pair, dtype)
                    taken = alternate(pair, rounds)
                    dense, ours = middle(taken["dense"]), middle(taken["attend"])
                    held = [memory(name, length, kind, gradients, way, threads) for way in ("dense", "attend")]
                    speed = cells * (BOTH if gradients else FORWARD) / ours / 1e9
                    both = "forward + backward" if gradients else "forward"
                    row = [name, kind, both, f"{dense * 1e3:.0f}", f"{ours * 1e3:.1f}", f"{dense / ours:.1f}×"]
                    rows.append([*row, f"{speed:.0f}", f"{held[0]:.0f}", f"{held[1]:.0f}"])
                    raw[f"{length} {name} {kind} {both}"] = taken
                    print(length, *rows[-1], sep="  ", flush=True)
        columns = ["graph", "dtype", "pass", "dense mask, ms", "attend, ms", "faster", "attend, GFLOP/s on edges"]
        columns += ["dense mask, MB more", "attend, MB more"]
        tables.append({"title": f"{length:,} positions, {HEADS} heads of {WIDTH}", "columns": columns, "rows": rows})
    return tables, raw


def overhead(rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the table of attend(…, causal()) beside the fused function itself, and the single timings."""
    rows: list[list[Any]] = []
    raw: dict[str, Any] = {}
    for length in OVERHEAD:
        tensors, graph = inputs(length, torch.float32, gradients=False), causal()
        taken = alternate(
            {
                "direct": lambda given=tensors: scaled_dot_product_attention(*given, is_causal=True),
                "attend": lambda given=tensors, graph=graph: attend(*given, graph),
            },
            rounds,
        )
        direct, ours = middle(taken["direct"]), middle(taken["attend"])
        rows.append([length, f"{direct * 1e6:.0f}", f"{ours * 1e6:.0f}", f"{(ours / direct - 1) * 100:+.1f} %"])
        raw[f"overhead {length}"] = {name: [round(s, 7) for s in seconds] for name, seconds in taken.items()}
        print("overhead", *rows[-1], sep="  ", flush=True)
    columns = ["positions", "fused function, µs", "attend, µs", "difference"]
    return {
        "title": "attend(…, causal()) beside the function that it calls, float32",
        "columns": columns,
        "rows": rows,
    }, raw


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="+", default=[4096, 8192])
    parser.add_argument("--memory", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    if asked.memory:
        measure_memory(asked.memory)
        return
    beside, single = overhead(asked.rounds * 41)
    tables, raw = structured(asked.lengths, asked.rounds, asked.threads)
    routes = {
        name: route_of(*inputs(4096, torch.float32, gradients=False), graph)._asdict()
        for name, graph in graphs(4096).items()
    }
    notes = [
        "The dense mask is a boolean (query, key) tensor, made before the clock starts. attend is given the graph: it "
        "cuts it into tiles when it first meets it (a few ms) and remembers them, as it would from layer to layer.",
        "prefix(1024) has more than half of all edges, so skipping the others cannot save much.",
        "Memory is the rise of the resident set, at its largest, in a fresh process (Linux); the mask, the outputs and "
        "the gradients count.",
    ]
    path = write(
        __file__,
        "Structured graphs on a CPU",
        asked.threads,
        [*tables, beside],
        notes,
        {"rounds": asked.rounds, "routes": routes, "seconds": raw | single},
    )
    print(path.name)


if __name__ == "__main__":
    main()
