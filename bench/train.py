"""Training on a CPU: our step beside nanoGPT's, karpathy's lecture model and torch's own encoder, at one size.

    python bench/train.py --nanogpt PATH --lecture PATH --text PATH [--curve] [--to-two] [--out bench/train.json]

PATH of a peer is a checkout of it (github.com/karpathy/nanoGPT, github.com/karpathy/ng-video-lecture), read and run as
it is; --text is tinyshakespeare. 4 layers, 4 heads, width 128, block 64; every job does whole steps: draw a batch,
forward, backward, clip, update. Jobs are timed in turns, a round each, and a ratio is the median of the rounds' ratios.
--curve compares the validation losses of nanoGPT and our compiled step from the same first weights on the same batches.
--to-two starts both trainers as processes of their own and times them until their validation loss is 2.0.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from edgewise.ladder import Size, rung
from edgewise.training import Characters, Corpus, Recipe, Step, windows
from record import machine

BLOCK = 64
SHAPE = Size(vocabulary=65, block=BLOCK, width=128, heads=4, layers=4)
# nanoGPT's flags for a CPU (its README), in its own words.
RATE, BETAS, DECAY, CLIP, WARM_UP, STEPS, LEAST = 1e-3, (0.9, 0.99), 0.1, 1.0, 100, 2000, 1e-4
CURVE = Recipe(
    optimiser="adamw",
    learning_rate=RATE,
    betas=BETAS,
    weight_decay=DECAY,
    clip=CLIP,
    warm_up=WARM_UP,
    steps=STEPS,
    final=LEAST / RATE,
    batch=12,
)
TARGET = 2.0
Job = Callable[[], Any]


def loaded(path: Path, name: str) -> ModuleType:
    """Return a peer's file as a module, as it is."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def lecture_model(checkout: Path) -> nn.Module:
    """Return the lecture's model at our size: its file trains as it is read, so only the part that defines is run."""
    source = (checkout / "gpt.py").read_text(encoding="utf-8")
    classes = source[source.index("class Head(") : source.index("model = GPTLanguageModel()")]
    names: dict[str, Any] = {
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "n_embd": SHAPE.width,
        "n_head": SHAPE.heads,
        "n_layer": SHAPE.layers,
        "block_size": BLOCK,
        "dropout": 0.0,
        "vocab_size": SHAPE.vocabulary,
        "device": "cpu",
    }
    exec(compile(classes, "gpt.py", "exec"), names)
    return names["GPTLanguageModel"]()


class Encoder(nn.Module):
    """torch's own encoder with a causal mask: what one would write without us."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(SHAPE.vocabulary, SHAPE.width)
        self.position = nn.Embedding(BLOCK, SHAPE.width)
        layer = nn.TransformerEncoderLayer(
            SHAPE.width, SHAPE.heads, 4 * SHAPE.width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, SHAPE.layers, nn.LayerNorm(SHAPE.width), enable_nested_tensor=False)
        self.predict = nn.Linear(SHAPE.width, SHAPE.vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(BLOCK))

    def forward(self, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and loss."""
        x = self.token(tokens) + self.position.weight
        logits = self.predict(self.layers(x, mask=self.mask, is_causal=True))
        return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def nanogpt(checkout: Path) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return nanoGPT's model and optimiser, made by its own code."""
    module = loaded(checkout / "model.py", "nanogpt_model")
    with contextlib.redirect_stdout(io.StringIO()):
        torch.manual_seed(0)
        model = module.GPT(
            module.GPTConfig(
                block_size=BLOCK,
                vocab_size=SHAPE.vocabulary,
                n_layer=SHAPE.layers,
                n_head=SHAPE.heads,
                n_embd=SHAPE.width,
                dropout=0.0,
                bias=False,
            )
        )
        return model, model.configure_optimizers(DECAY, RATE, BETAS, "cpu")


def batches(corpus: Corpus, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Return batch after batch, the same for all who ask with the same size."""
    for step in range(1 << 30):
        yield windows(corpus.training, corpus.starts(0, step, size, BLOCK), BLOCK)


def peer_job(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    source: Iterator[tuple[Tensor, Tensor]],
    *,
    compiled: bool = False,
) -> Job:
    """Return one step of a model that returns (logits, loss), as nanoGPT's loop does it."""
    run = torch.compile(model) if compiled else model

    def job() -> None:
        _, loss = run(*next(source))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return job


def our_job(source: Iterator[tuple[Tensor, Tensor]], precision: Any, *, compiled: bool) -> Job:
    """Return one of our steps with AdamW, the same update as nanoGPT's."""
    step = Step(rung("gpt").build(SHAPE), CURVE, precision=precision, compiled=compiled)
    return lambda: step([next(source)], 1.0)


def jobs(args: argparse.Namespace, corpus: Corpus, size: int) -> dict[str, Job]:
    """Return all trainers at one batch size."""

    def adamw(model: nn.Module) -> Job:
        return peer_job(model, torch.optim.AdamW(model.parameters(), lr=RATE), batches(corpus, size))

    return {
        "nanoGPT": peer_job(*nanogpt(args.nanogpt), batches(corpus, size)),
        "nanoGPT, compiled": peer_job(*nanogpt(args.nanogpt), batches(corpus, size), compiled=True),
        "lecture model": adamw(lecture_model(args.lecture)),
        "nn.TransformerEncoder": adamw(Encoder()),
        "edgewise float32": our_job(batches(corpus, size), "float32", compiled=False),
        "edgewise bfloat16": our_job(batches(corpus, size), "bfloat16", compiled=False),
        "edgewise bfloat16, compiled": our_job(batches(corpus, size), "bfloat16", compiled=True),
    }


def timed(found: dict[str, Job], rounds: int, steps: int) -> dict[str, list[float]]:
    """Return the seconds of a step of each job in each round, all in turns, after enough steps to be warm."""
    for job in found.values():
        for _ in range(5):
            job()
    taken: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(rounds):
        for name in list(found) if turn % 2 == 0 else reversed(list(found)):
            begun = time.perf_counter()
            for _ in range(steps):
                found[name]()
            taken[name].append((time.perf_counter() - begun) / steps)
    return taken


def speed_table(taken: dict[str, list[float]], size: int) -> dict[str, Any]:
    """Return the table of one batch size."""
    first = taken["nanoGPT"]
    rows = [
        [
            name,
            f"{statistics.median(seconds) * 1e3:.1f}",
            f"{size * BLOCK / statistics.median(seconds):,.0f}",
            f"{statistics.median(one / two for one, two in zip(first, seconds, strict=True)):.2f}",
        ]
        for name, seconds in taken.items()
    ]
    return {
        "title": f"A step of {size} windows of {BLOCK} tokens",
        "columns": ["trainer", "ms a step", "tokens/s", "times nanoGPT"],
        "rows": rows,
    }


def curve(args: argparse.Namespace, corpus: Corpus) -> dict[str, Any]:
    """Return the table of validation losses of nanoGPT and ours, from the same weights on the same batches."""
    theirs, optimizer = nanogpt(args.nanogpt)
    ours = rung("gpt").build(SHAPE)
    ours.load_state_dict(renamed(theirs.state_dict()))
    step = Step(ours, CURVE, precision="bfloat16", compiled=True)
    held_out = corpus.validation_starts(512, BLOCK)
    chunks = [windows(corpus.validation, held_out[at : at + 64], BLOCK) for at in range(0, len(held_out), 64)]
    rows: list[list[str]] = []
    for number in range(args.curve):
        for group in optimizer.param_groups:
            group["lr"] = RATE * CURVE.factor(number)
        batch = windows(corpus.training, corpus.starts(1, number, 12, BLOCK), BLOCK)
        peer_job(theirs, optimizer, iter([batch]))()
        step([batch], CURVE.factor(number))
        if (number + 1) % 250 == 0:
            with torch.no_grad():
                pair = [
                    statistics.mean(theirs(*one)[1].item() for one in chunks),
                    statistics.mean(step.loss(*one).item() for one in chunks),
                ]
            rows.append([str(number + 1), f"{pair[0]:.4f}", f"{pair[1]:.4f}", f"{pair[1] - pair[0]:+.4f}"])
            print(*rows[-1], flush=True)
    return {
        "title": "Validation loss from the same weights on the same batches of 12",
        "columns": ["iterations", "nanoGPT", "edgewise bfloat16, compiled", "difference"],
        "rows": rows,
    }


def renamed(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return nanoGPT's weights under our names."""
    words = [
        ("transformer.wte", "token"),
        ("transformer.wpe", "position"),
        ("transformer.h", "blocks"),
        ("transformer.ln_f", "norm"),
        ("attn.c_attn", "attention.qkv"),
        ("attn.c_proj", "attention.mix"),
        ("mlp.c_fc", "feed.up"),
        ("mlp.c_proj", "feed.down"),
        ("ln_1", "attention_norm"),
        ("ln_2", "feed_norm"),
    ]
    found: dict[str, Tensor] = {}
    for name, weight in theirs.items():
        if not name.startswith("lm_head"):
            for old, new in words:
                name = name.replace(old, new)
            found[name] = weight
    return found


def nanogpt_to_two(args: argparse.Namespace, folder: Path) -> tuple[float, str]:
    """Return the seconds from the start of nanoGPT's process to a validation loss of 2.0, and what it was then."""
    data = folder / "data" / "shakespeare_char"
    data.mkdir(parents=True)
    text = args.text.read_text(encoding="utf-8")
    tokenizer = Characters.of([text])
    ids = tokenizer.encode(text).astype(np.uint16)
    cut = int(0.9 * len(ids))
    ids[:cut].tofile(data / "train.bin")
    ids[cut:].tofile(data / "val.bin")
    # Its meta.pkl would say the size of the vocabulary; without pickle we say it where it falls back.
    for name in ("model.py", "configurator.py", "train.py"):
        source = (args.nanogpt / name).read_text(encoding="utf-8")
        (folder / name).write_text(source.replace("else 50304", f"else {tokenizer.size}"), encoding="utf-8")
    flags = (
        "dataset=shakespeare_char device=cpu compile=False eval_iters=20 log_interval=1000 block_size=64 batch_size=12 "
        "n_layer=4 n_head=4 n_embd=128 max_iters=2000 lr_decay_iters=2000 dropout=0.0 learning_rate=1e-3 min_lr=1e-4 "
        "beta2=0.99 warmup_iters=100 gradient_accumulation_steps=1 eval_interval=250 always_save_checkpoint=False"
    )
    words = [sys.executable, "-u", "train.py", *(f"--{flag}" for flag in flags.split())]
    return first_below(words, folder, re.compile(r"step (\d+): .*val loss ([\d.]+)"))


def ours_to_two(args: argparse.Namespace, folder: Path) -> tuple[float, str]:
    """Return the seconds from the start of `edgewise train` to a validation loss of 2.0, and what it was then."""
    words = [sys.executable, "-u", "-m", "edgewise", "train", str(args.text.resolve()), "--out", str(folder / "run")]
    return first_below(words, folder, re.compile(r"^\D*(\d+)\b.*validation ([\d.]+)"))


def first_below(words: list[str], folder: Path, line: re.Pattern[str]) -> tuple[float, str]:
    """Start a trainer, end it at its first validation loss of at most 2.0, and return when it crossed 2.0.

    Both evaluate by their own habit, some hundred steps apart; the crossing lies on the line between two evaluations.
    """
    begun = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert child.stdout is not None
    said: list[str] = []
    before = (0.0, float("inf"))
    try:
        for text in child.stdout:
            said.append(text)
            if found := line.search(text):
                now = (time.perf_counter() - begun, float(found[2]))
                if now[1] <= TARGET:
                    part = (before[1] - TARGET) / (before[1] - now[1])
                    return before[0] + part * (now[0] - before[0]), f"{found[2]} after {found[1]} iterations"
                before = now
    finally:
        child.kill()
        child.wait()
    raise SystemExit(f"{words} never reached {TARGET}:\n{''.join(said[-20:])}")


def to_two(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Return the table of both trainers, from the start of the process, and the single times."""
    taken: dict[str, list[float]] = {"nanoGPT's recipe for a CPU": [], "edgewise train": []}
    ends: dict[str, list[str]] = {name: [] for name in taken}
    for _ in range(args.to_two):
        for name, way in zip(taken, (nanogpt_to_two, ours_to_two), strict=True):
            with tempfile.TemporaryDirectory() as folder:
                seconds, end = way(args, Path(folder))
            taken[name].append(seconds)
            ends[name].append(end)
            print(f"{name}: {seconds:.1f} s, {end}", flush=True)
    first = statistics.median(taken["nanoGPT's recipe for a CPU"])
    rows = [
        [name, f"{statistics.median(some):.1f}", "; ".join(ends[name]), f"{first / statistics.median(some):.2f}"]
        for name, some in taken.items()
    ]
    return {
        "title": "From the start of the process to a validation loss of 2.0",
        "columns": ["trainer", "seconds", "ended at", "times nanoGPT"],
        "rows": rows,
    }, taken


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nanogpt", type=Path, required=True, help="a checkout of nanoGPT")
    parser.add_argument("--lecture", type=Path, required=True, help="a checkout of ng-video-lecture")
    parser.add_argument("--text", type=Path, required=True, help="tinyshakespeare")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=5, help="steps of a job in a round")
    parser.add_argument("--batches", type=int, nargs="+", default=[12, 64])
    parser.add_argument("--curve", type=int, nargs="?", const=1000, default=0, help="iterations; 0: leave it out")
    parser.add_argument("--to-two", type=int, nargs="?", const=3, default=0, help="pairs of runs; 0: leave it out")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    return parser.parse_args()


def main() -> None:
    """Measure, print and write."""
    args = arguments()
    torch.set_num_threads(args.threads)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # for the processes of --to-two
    text = args.text.read_text(encoding="utf-8")
    corpus = Corpus.of(Characters.of([text]).encode(text), BLOCK)
    tables: list[dict[str, Any]] = []
    raw: dict[str, Any] = {}
    for size in args.batches:
        taken = timed(jobs(args, corpus, size), args.rounds, args.steps)
        raw[f"seconds a step, batch {size}"] = taken
        tables.append(speed_table(taken, size))
        for row in tables[-1]["rows"]:
            print(f"batch {size:3}  {row[0]:30} {row[1]:>8} ms {row[2]:>9} tokens/s  × {row[3]}", flush=True)
    if args.curve:
        tables.append(curve(args, corpus))
    if args.to_two:
        table, raw["seconds to 2.0"] = to_two(args)
        tables.append(table)
    held = {
        "title": "Training on a CPU",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(args.threads),
        "tables": tables,
        "notes": [
            f"4 layers, 4 heads, width {SHAPE.width}, block {BLOCK}, {SHAPE.vocabulary} characters of tinyshakespeare; "
            "a step draws a batch, goes forward and backward, clips and updates. Compiled steps are warm.",
            f"Medians of {args.rounds} rounds of {args.steps} steps, all jobs in turns; a ratio is the median of the "
            "rounds' ratios.",
        ],
        "raw": raw,
    }
    args.out.write_text(json.dumps(held, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
