"""What the tests of training share: a small book, a model that takes a second, and the command as a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgewise.training import How, Recipe, Run, Watcher, train

ROOT = Path(__file__).parents[2]
VERSES = (
    "the cat sat on the mat, and the rat ran past the hat\nA dog dug: what a big bag!\nWho sees the sea, says she?\n\n"
)
# Some variety between the lines, so that there is something to learn for more than ten steps.
BOOK = "".join(f"{number}. {VERSES[number % 17 :]}{VERSES}" for number in range(60))
TINY = ("--layers", "1", "--heads", "2", "--width", "16", "--block", "8", "--batch", "4")
PLAIN = ("--precision", "float32", "--compiled", "no")


class Told(Watcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines += line.split("\n")

    def line(self, begins: str) -> str:
        """Return the line that begins so, without that word."""
        return next(line for line in self.lines if line.startswith(begins)).removeprefix(begins).strip()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(BOOK)
    return path


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of 20 steps; to be read only."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "book.txt").write_text(BOOK)
    from edgewise.ladder import Size

    return train(
        folder / "book.txt",
        size=Size(vocabulary=1, block=8, width=16, heads=2, layers=1),
        recipe=Recipe(steps=20, batch=4, evaluate_every=10),
        out=folder / "run",
        how=How(precision="float32", compiled="no"),
        watch=Told(),
    )


def start(*arguments: str, cwd: Path, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `python -m edgewise` with one thread, its output to be read."""
    return subprocess.Popen(
        [sys.executable, "-m", "edgewise", *arguments],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
