"""`edgewise train`."""

import argparse

from edgewise.cli.command import Command

__all__ = ["TRAIN"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rest", nargs="*")


def _run(arguments: argparse.Namespace) -> int:
    raise NotImplementedError


TRAIN = Command("train", "train", "train", _add_arguments, _run)
