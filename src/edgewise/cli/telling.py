"""What is being done right now, with the time that it takes, for whoever watches a terminal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["telling"]


@contextmanager
def telling() -> Generator[Callable[[str], None]]:
    """Give what is to be told, and show it with the time on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as drawn:
        task = drawn.add_task("", total=None)
        yield lambda text: drawn.update(task, description=text)
