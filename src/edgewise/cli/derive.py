"""`edgewise derive`."""

import argparse

from edgewise.cli.command import Command

__all__ = ["DERIVE"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rest", nargs="*")


def _run(arguments: argparse.Namespace) -> int:
    raise NotImplementedError


DERIVE = Command("derive", "derive", "derive", _add_arguments, _run)
