"""`edgewise train`: a rung of the ladder learns a text; `--resume` goes on with a run that was cut off."""

import argparse
from typing import Any

from edgewise.cli.command import Command
from edgewise.errors import ArgumentError

__all__ = ["TRAIN"]

DESCRIPTION = """\
Train a small language model on a text, and keep everything of the run in one folder.

  edgewise train book.txt                   a GPT of 4 layers, characters, about a minute
  edgewise train notes/ 'more/*.md'         folders and patterns; - is standard input
  edgewise train book.txt --rung scale      another rung of the ladder
  edgewise train --resume runs/book-1       go on with a run that was cut off, bit for bit
  torchrun --nproc-per-node 2 -m edgewise train book.txt      the same run on two processes

Without a path the text is tinyshakespeare, or else prose that Python carries; the output says which.
"""
SIZE = ("layers", "heads", "width", "block", "dropout")
# The defaults are those of Recipe, held by a test: reading them there would load torch for --help.
RECIPE: dict[str, tuple[str, str, int | float | str]] = {
    "steps": ("N", "updates", 1000),
    "batch": ("N", "windows in one forward pass, over all processes", 24),
    "accumulate": ("N", "forward passes in one step", 1),
    "optimiser": ("NAME", "muon or adamw", "muon"),
    "learning_rate": ("X", "of AdamW, at its highest", 6e-3),
    "matrix_rate": ("X", "of Muon, at its highest", 0.04),
    "warm_up": ("N", "steps of rising learning rate", 20),
    "weight_decay": ("X", "of the matrices", 0.1),
    "clip": ("X", "largest norm of the gradient; 0: as it comes", 1.0),
    "evaluate_every": ("N", "steps between evaluations", 100),
    "seed": ("N", "of the first weights and of the order of the data", 0),
}
HOW = ("device", "precision", "compiled", "save_seconds", "tensorboard")
# What may stand beside --resume: all else was settled when the run began.
ALONG = ("resume", "steps", "save_seconds", "tensorboard", "run")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="text to learn: files, folders, patterns, or - for standard input")
    add("--resume", metavar="RUN", help="go on with the run in this folder; only --steps may change")
    add("--out", metavar="RUN", help="the run folder to make (default: the next free runs/NAME-n)")
    add("--rung", metavar="NAME", help="the model, a rung of the ladder (default: gpt)")
    add("--tokens", metavar="KIND", help="characters, pairs, pairs:NUMBER, or a tokenizer.json (default: characters)")
    add("--validation", type=float, metavar="PART", help="part of the text, at its end, held out (default: 0.1)")
    size = parser.add_argument_group("size")
    size.add_argument("--size", metavar="NAME", help="tiny, small, medium or large (default: small)")
    for name in SIZE[:-1]:
        size.add_argument(f"--{name}", type=int, metavar="N", help=f"instead of the {name} of --size")
    size.add_argument("--dropout", type=float, metavar="PART", help="instead of the dropout of --size")
    recipe = parser.add_argument_group("recipe")
    for name, (metavar, text, default) in RECIPE.items():
        option = "--" + name.replace("_", "-")
        recipe.add_argument(option, type=type(default), metavar=metavar, help=f"{text} (default: {default})")
    how = parser.add_argument_group("where and how fast")
    how.add_argument("--device", metavar="NAME", help="auto, cpu or cuda")
    how.add_argument("--precision", metavar="KIND", help="auto, float32 or bfloat16")
    how.add_argument("--compiled", metavar="CHOICE", help="auto, yes or no: torch.compile")
    how.add_argument("--save-seconds", type=float, metavar="S", help="save at least this often (default: 60)")
    how.add_argument("--tensorboard", action="store_true", default=None, help="write a log for TensorBoard as well")


def _run(arguments: argparse.Namespace) -> int:
    given = {name: value for name, value in vars(arguments).items() if value is not None and value != []}
    if "resume" in given:
        _resume(given)
    else:
        _train(given)
    return 0


def _resume(given: dict[str, Any]) -> None:
    if odd := [name for name in given if name not in ALONG]:
        shown = " and ".join("a path" if name == "paths" else "--" + name.replace("_", "-") for name in odd)
        raise ArgumentError(
            f"a resumed run keeps what it began with; got {shown} beside --resume; only --steps may change"
        )
    from edgewise.training import How, resume

    how = How(**{name: given[name] for name in HOW if name in given})
    resume(given["resume"], steps=given.get("steps"), how=how)


def _train(given: dict[str, Any]) -> None:
    from dataclasses import replace

    from edgewise.training import How, Recipe, named_size, train

    size = replace(named_size(given.get("size", "small")), **{name: given[name] for name in SIZE if name in given})
    recipe = Recipe(**{name: given[name] for name in RECIPE if name in given})
    how = How(**{name: given[name] for name in HOW if name in given})
    others = {name: given[name] for name in ("rung", "tokens", "validation", "out") if name in given}
    train(given.get("paths"), size=size, recipe=recipe, how=how, **others)


TRAIN = Command("train", "teach a rung of the ladder a text", DESCRIPTION, _add_arguments, _run)
