"""The parser that joins the commands, and the one place where an error becomes a sentence and an exit status."""

import argparse
import io
import os
import sys
from collections.abc import Sequence

from edgewise import __version__
from edgewise.cli.check import CHECK
from edgewise.cli.derive import DERIVE
from edgewise.cli.sample import SAMPLE
from edgewise.cli.trace import TRACE
from edgewise.cli.train import TRAIN
from edgewise.cli.view import VIEW
from edgewise.errors import EdgewiseError

__all__ = ["main", "parser"]

COMMANDS = (DERIVE, TRAIN, SAMPLE, TRACE, VIEW, CHECK)


def parser() -> argparse.ArgumentParser:
    """Return the parser of `edgewise` with every command in it."""
    whole = argparse.ArgumentParser(
        prog="edgewise",
        description="Know what your attention does: derive it, train it, write with it, look at it.",
        epilog="edgewise COMMAND --help tells all of one command.",
    )
    whole.add_argument("--version", action="version", version=f"edgewise {__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        one = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(one)
        one.set_defaults(run=command.run)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status: 0 done, 1 a check failed, 2 the user's mistake, 130 Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # where √ cannot be shown, ? is, and the command goes on
    chosen = parser().parse_args(arguments)
    try:
        return chosen.run(chosen)
    except EdgewiseError as mistake:
        print(f"edgewise: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("edgewise: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing more to say, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
