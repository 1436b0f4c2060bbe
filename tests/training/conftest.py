"""What the tests of training share: a small book, a model that takes a second, and the command as a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from edgewise.ladder import Size
from edgewise.training import How, Recipe, Run, Watcher, train

VERSES = (
    "the cat sat on the mat, and the rat ran past the hat\nA dog dug: what a big bag!\nWho sees the sea, says she?\n\n"
)
# Some variety between the lines, so that there is something to learn for more than ten steps.
BOOK = "".join(f"{number}. {VERSES[number % 17 :]}{VERSES}" for number in range(60))


class Told(Watcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines += line.split("\n")

    def line(self, begins: str) -> str:
        """Return the line that begins so, without that word."""
        return next(line for line in self.lines if line.startswith(begins)).removeprefix(begins).strip()


@pytest.fixture(scope="session")
def book_text() -> str:
    return BOOK


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
    return train(
        folder / "book.txt",
        size=Size(vocabulary=1, block=8, width=16, heads=2, layers=1),
        recipe=Recipe(steps=20, batch=4, evaluate_every=10),
        out=folder / "run",
        how=How(precision="float32", compiled="no"),
        watch=Told(),
    )


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `python -m edgewise` in a new folder, with one thread; what is still running at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path, module: Sequence[str] = ("edgewise",), **more: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **more}
        command = [sys.executable, "-m", *module, *map(str, arguments)]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()
