"""`edgewise derive`: the ladder told, trained, or proven claim by claim."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from edgewise.cli.bar import bar
from edgewise.cli.command import Command

if TYPE_CHECKING:
    from edgewise.derivation import Screen

__all__ = ["DERIVE"]

DESCRIPTION = """\
Earn softmax(QKᵀ/√d)·V from "take an average", one changed line at a time.

Without options the whole story, each number worked out as it is told; with the
name of a rung, that rung and every line it changes; with --train, what each rung
makes of a text in seconds; with --claims, everything said on the way, measured."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rung", nargs="?", metavar="RUNG", help="tell of this rung only")
    parser.add_argument(
        "--train", action="store_true", help="train the rungs, about a minute, and show what each came to"
    )
    parser.add_argument(
        "--claims",
        nargs="*",
        metavar="NAME",
        help="run the claims, or those of an id (scale.sharpening), a section (scale) or a pattern ('*.by-hand')",
    )
    parser.add_argument("--quick", action="store_true", help="leave out the claims that train")
    parser.add_argument(
        "--text", metavar="PATH", help="the text to read (default: tinyshakespeare, else Python's own prose)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _run(arguments: argparse.Namespace) -> int:
    from edgewise.derivation import derive

    claims = False if arguments.claims is None else arguments.claims or True
    with _screen(quiet=arguments.json) as screen:
        result = derive(
            arguments.rung,
            train=arguments.train,
            claims=claims,
            quick=arguments.quick,
            text=arguments.text,
            screen=screen,
        )
    if arguments.json:
        print(json.dumps(result.record(), ensure_ascii=False, indent=2))
    elif claims is False:
        print("\n" + _next(trained=arguments.train))
    return 0 if result.holds else 1


def _next(*, trained: bool) -> str:
    """What a reader may do now, as commands that work from where they stand."""
    run = "scripts/run" if Path("scripts/run").is_file() else "edgewise"
    commands = [
        ("derive scores", "one rung, every line it changes"),
        ("derive --claims", "all that was said, measured"),
        ("train mybook.txt", "the last rung on your own text"),
        ('sample --prompt "The "', "what a trained rung writes"),
    ]
    if not trained:
        commands.insert(0, ("derive --train", "every rung learns a text"))
    width = max(len(command) for command, _ in commands)
    return "\n".join(["Try next:", *(f"  {run} {command:<{width}}   {what}" for command, what in commands)])


@contextmanager
def _screen(*, quiet: bool) -> "Generator[Screen]":
    """What is shown goes to standard output as it comes; training draws a bar where somebody watches."""
    from edgewise.derivation import Ink, Screen

    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else 80
    ink = Ink(colour=terminal and not os.environ.get("NO_COLOR"), width=max(60, min(columns, 100)))
    with bar() as watch:
        yield Screen(watch=watch) if quiet else Screen(partial(print, flush=True), watch, ink)


DERIVE = Command(
    "derive", "earn every symbol of attention, one changed line at a time", DESCRIPTION, _add_arguments, _run
)
