"""What a command of the command line is: a name, a line of help, its arguments, and what it does."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Command"]


@dataclass(frozen=True)
class Command:
    """One command. `run` gets the parsed arguments and returns the exit status: 0 done, 1 a check failed."""

    name: str
    summary: str
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
