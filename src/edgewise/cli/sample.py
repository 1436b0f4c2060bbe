"""`edgewise sample`."""

import argparse

from edgewise.cli.command import Command

__all__ = ["SAMPLE"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rest", nargs="*")


def _run(arguments: argparse.Namespace) -> int:
    raise NotImplementedError


SAMPLE = Command("sample", "sample", "sample", _add_arguments, _run)
