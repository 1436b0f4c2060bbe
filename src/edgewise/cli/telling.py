"""What a long command is at, how fast, and the time that is left, for whoever watches a terminal."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Tell", "telling"]


class Tell(Protocol):
    """Takes what is to be told."""

    def __call__(self, text: str, done: float | None = None, of: float | None = None, unit: str = "") -> None:
        """Show what is done now, and how much of it: in steps of a unit, or in seconds where there is none."""
        ...


@contextmanager
def telling() -> Generator[Tell]:
    """Give what is to be told, and show it with a bar and the time on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield _unheard
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            unit = task.fields["unit"]
            return Text(f"{task.speed:,.1f} {unit}/s" if unit and task.speed else "")

    columns = (
        *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), Rate()),
        *(TimeElapsedColumn(), TextColumn("left"), Remaining()),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as drawn:
        task, stage = drawn.add_task("", total=None, unit=""), ""

        def tell(text: str, done: float | None = None, of: float | None = None, unit: str = "") -> None:
            nonlocal stage
            if text.partition(":")[0] != stage:
                stage = text.partition(":")[0]
                drawn.reset(task, total=of)
            drawn.update(task, description=text, total=of, completed=done, unit=unit)

        yield tell


def _unheard(text: str, done: float | None = None, of: float | None = None, unit: str = "") -> None:
    """Nobody looks."""
