"""Rows, pictures and files of records, beside the same done plainly; writes bench/records.json."""

import os
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from edgewise.graphs import causal
from edgewise.records import Array, Call, Record, Site, open_record, overview, row, save
from record import alternate, middle, write

ROUNDS = 5


def call(length: int, heads: int = 1) -> Call:
    """Return a causal call of random numbers, heads of width 64."""
    drawn = np.random.default_rng(0).standard_normal((4, 1, heads, length, 64), dtype=np.float32)
    return Call(Site("layer", 0, "self", heads, heads, 64), 0, "bench", *map(Array.of, drawn), 0.125, causal())


def plainly(one: Call) -> np.ndarray:
    """Return the picture of a head by its whole matrix."""
    scores = one.query.bits[0, 0] @ one.key.bits[0, 0].T * np.float32(one.scale)
    scores[np.triu_indices(len(scores), 1)] = -np.inf
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    step = max(1, len(scores) // 512)
    pixels = weights.reshape(len(scores) // step, step, -1, step)
    return np.stack([pixels.max((1, 3)), pixels.mean((1, 3))])


def pictures() -> list[list[str]]:
    """Return milliseconds of pictures, zooms and rows at several lengths."""
    rows: list[list[str]] = []
    for length in (4096, 8192, 32768):
        one = call(length)
        seen = overview(one, 0)
        half, eighth = slice(length // 2, None), slice(length // 2, length // 2 + length // 8)
        jobs = {
            "picture": lambda one=one: overview(one, 0),
            "half": lambda seen=seen, half=half: seen.zoom(half, slice(None, half.start)),
            "eighth": lambda seen=seen, eighth=eighth: seen.zoom(eighth, slice(0, eighth.stop - eighth.start)),
            "row": lambda one=one: row(one, 0, 0, -1),
        }
        if length <= 8192:  # the whole matrix and its copies take 13 GB at 32,768
            jobs["plainly"] = lambda one=one: plainly(one)
        taken = {name: middle(seconds) * 1e3 for name, seconds in alternate(jobs, ROUNDS).items()}
        shown = [
            f"{taken[name]:.1f}" if name in taken else "–" for name in ("picture", "plainly", "half", "eighth", "row")
        ]
        rows.append([f"{length:,}", *shown])
    return rows


def files() -> list[list[str]]:
    """Return seconds of writing and opening 12 layers of 12 heads at 2,048 tokens, 302 MB."""
    layers = [call(2048, 12) for _ in range(12)]
    record = Record(
        [Call(**{**vars(one), "site": Site(f"{n}", n, "self", 12, 12, 64)}) for n, one in enumerate(layers)]
    )
    plain = {f"{n}.{name}": array.bits for n, one in enumerate(layers) for name, array in one.arrays.items()}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "a.edgewise", Path(folder) / "a.safetensors"
        jobs = {
            "write": lambda: save(record, ours),
            "safetensors": lambda: save_file(plain, theirs),
            "open": lambda: open_record(ours),
            "open and read a row": lambda: row(open_record(ours).calls[5], 0, 3, -1),
        }
        taken = alternate(jobs, ROUNDS)
    return [[name, f"{middle(seconds) * 1e3:.1f}"] for name, seconds in taken.items()]


def main() -> None:
    """Measure and write the tables."""
    columns = ["tokens", "picture", "by the whole matrix", "zoom to a quarter", "zoom to 1/64", "one row"]
    tables = [
        {"title": "A 512 × 512 picture of one causal head of width 64, ms", "columns": columns, "rows": pictures()},
        {"title": "A record of 302 MB, ms", "columns": ["what", "ms"], "rows": files()},
    ]
    notes = [
        "Writing includes checksums and a flush to the disk, which safetensors alone does not do.",
        "Zooming uses what the first picture of the head has computed.",
    ]
    print(*(f"{table['title']}\n{table['columns']}\n{table['rows']}" for table in tables), sep="\n")
    print("wrote", write(__file__, "Records", os.cpu_count() or 1, tables, notes, {}).name)


if __name__ == "__main__":
    main()
