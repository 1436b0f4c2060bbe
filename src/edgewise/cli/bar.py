"""A progress bar for training that is watched: what is trained, steps, rate, time left."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["bar"]


@contextmanager
def bar() -> Generator[Callable[[str, int, int], None]]:
    """Give what is to be told (what, steps done, steps in all), and draw it on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield _unwatched
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} steps/s" if task.speed else "")

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), Rate(), Remaining())
    # Where standard output is kept, what is printed must go there and not to the bar's console.
    redirect = sys.stdout.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=redirect) as drawn:
        tasks: dict[str, TaskID] = {}

        def watch(what: str, done: int, steps: int) -> None:
            if what not in tasks:
                for task in drawn.task_ids:
                    drawn.remove_task(task)
                tasks[what] = drawn.add_task(what, total=steps)
            drawn.update(tasks[what], completed=done)
            if done == steps:
                drawn.remove_task(tasks.pop(what))

        yield watch


def _unwatched(what: str, done: int, steps: int) -> None:
    """Nobody looks."""
