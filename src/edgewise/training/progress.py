"""What a person sees while a run runs: a live bar on a terminal, plain lines where the output is kept."""

import time
from collections.abc import Callable
from typing import Any, TextIO

from edgewise.training.checkpoint import Progress
from edgewise.training.watch import Evaluated, Stepped, Watcher

__all__ = ["Bar", "Lines", "duration", "watcher_for"]


def watcher_for(stream: TextIO) -> Watcher:
    """Return the watcher that suits a stream."""
    return Bar(stream) if stream.isatty() else Lines(stream)


def duration(seconds: float) -> str:
    """Return a time as people write it.

    Example:
        >>> duration(0.42), duration(59.6), duration(3723)
        ('0.4 s', '1:00', '1:02:03')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


class _Pace:
    """How fast steps are done, smoothed, evaluations and saving counted; and how long the rest will take."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._from: tuple[int, float] | None = None

    def left(self, step: int, steps: int) -> str:
        """Return the time left, or nothing before two steps have been seen."""
        if self._from is None:
            self._from = (step, self._clock())  # the first step is slow: it warms up, and may compile
            return ""
        done = step - self._from[0]
        return duration((self._clock() - self._from[1]) / done * (steps - step)) + " left" if done > 0 else ""


class Lines(Watcher):
    """Writes a line at each evaluation, and one in between where that takes long."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.perf_counter, every: float = 10.0) -> None:
        self._stream, self._clock, self._every = stream, clock, every
        self._steps = 0
        self._last: Stepped | None = None
        self._left = ""

    def say(self, line: str) -> None:
        """Write a sentence."""
        self._stream.write(line + "\n")
        self._stream.flush()

    def begun(self, progress: Progress, steps: int) -> None:
        """Start counting."""
        self._steps, self._pace, self._told = steps, _Pace(self._clock), self._clock()

    def stepped(self, stepped: Stepped) -> None:
        """Write a line if there was none for long."""
        self._last = stepped
        self._left = self._pace.left(stepped.step, self._steps)
        if self._clock() - self._told >= self._every:
            self._line(f"loss {stepped.loss:.4f}", stepped.step)

    def evaluated(self, evaluated: Evaluated) -> None:
        """Write the losses."""
        training = "" if evaluated.training_loss is None else f"loss {evaluated.training_loss:.4f}  "
        self._line(f"{training}validation {evaluated.validation_loss:.4f}", evaluated.step)

    def _line(self, losses: str, step: int) -> None:
        self._told = self._clock()
        rate = f"  {self._last.tokens_per_second:,.0f} tokens/s" if self._last else ""
        left = f"  {self._left}" if self._left and step < self._steps else ""
        self.say(f"step {step:>{len(str(self._steps))}}/{self._steps}  {losses}{rate}{left}")


class Bar(Watcher):
    """Draws a bar with the loss, the pace and the time left, and writes a line above it at each evaluation."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.perf_counter) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Live

        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._live: Any = Live(
            TextColumn("{task.completed}/{task.total}"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            console=self._console,
            transient=True,
        )
        self._clock = clock
        self._lines = Lines(self)  # pyright: ignore[reportArgumentType] — all it needs of a stream is write and flush

    def write(self, text: str) -> None:
        """Write above the bar."""
        self._console.print(text.rstrip("\n"), markup=False)

    def flush(self) -> None:
        """Do nothing: the console does not wait."""

    def say(self, line: str) -> None:
        """Write a sentence."""
        self._console.print(line, markup=False)

    def begun(self, progress: Progress, steps: int) -> None:
        """Draw the bar."""
        self._lines = Lines(self, self._clock, every=float("inf"))  # pyright: ignore[reportArgumentType]
        self._lines.begun(progress, steps)
        self._task = self._live.add_task("", total=steps, completed=progress.step)
        self._live.start()

    def stepped(self, stepped: Stepped) -> None:
        """Move the bar."""
        self._lines.stepped(stepped)
        text = f"loss {stepped.loss:.3f}  {stepped.tokens_per_second:,.0f} tokens/s  {self._lines._left}"
        self._live.update(self._task, completed=stepped.step, description=text)

    def evaluated(self, evaluated: Evaluated) -> None:
        """Write the losses above the bar."""
        self._lines.evaluated(evaluated)

    def ended(self) -> None:
        """Take the bar away."""
        self._live.stop()
