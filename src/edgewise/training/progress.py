"""What a person sees while a run runs: a live bar on a terminal, plain lines where the output is kept."""

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from edgewise.training.checkpoint import Progress
from edgewise.training.watch import Evaluated, Stepped, Watcher

if TYPE_CHECKING:
    from rich.progress import Progress as Live

__all__ = ["Bar", "Lines", "duration", "watcher_for"]

Clock = Callable[[], float]


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
    """Where a loop stands and how fast it goes, evaluations and saving counted; and how that is said."""

    def __init__(self, steps: int, clock: Clock) -> None:
        self.steps = steps
        self._clock = clock
        # When the latest steps ended; not the first one: it warms up, and may compile.
        self._ends: deque[float] = deque(maxlen=200)
        self._each: float | None = None  # seconds a token, smoothed
        self._rate = self._left = ""

    def see(self, stepped: Stepped) -> None:
        """Take note of a step."""
        self._ends.append(self._clock())
        if (done := len(self._ends) - 1) > 0:
            each = 1 / stepped.tokens_per_second
            self._each = each if self._each is None else 0.95 * self._each + 0.05 * each
            self._rate = f"{1 / self._each:,.0f} tokens/s"
            a_step = (self._ends[-1] - self._ends[0]) / done
            self._left = f"{duration(a_step * (self.steps - stepped.step))} left" if stepped.step < self.steps else ""

    def says(self, losses: str) -> str:
        """Return the losses, the pace and the time left, as far as they are known."""
        return "  ".join(filter(None, (losses, self._rate, self._left)))

    def line(self, losses: str, step: int) -> str:
        """Return the same with the step before it."""
        return f"step {step:>{len(str(self.steps))}}/{self.steps}  {self.says(losses)}"


def _losses(evaluated: Evaluated) -> str:
    training = "" if evaluated.training_loss is None else f"loss {evaluated.training_loss:.4f}  "
    return f"{training}validation {evaluated.validation_loss:.4f}"


class Lines(Watcher):
    """Writes a line at each evaluation, and one in between where that takes `every` seconds or more."""

    def __init__(self, stream: TextIO, clock: Clock = time.perf_counter, every: float = 10.0) -> None:
        self._stream, self._clock, self._every = stream, clock, every
        self._pace = _Pace(0, clock)
        self._told = clock()

    def say(self, line: str) -> None:
        """Write a sentence."""
        self._stream.write(line + "\n")
        self._stream.flush()
        self._told = self._clock()

    def preparing(self, what: str, done: float) -> None:
        """Write how far it is, now and then."""
        if self._clock() - self._told >= self._every:
            self.say(f"{what:<11}{done:.0%}")

    def begun(self, progress: Progress, steps: int) -> None:
        """Start counting."""
        del progress
        self._pace, self._told = _Pace(steps, self._clock), self._clock()

    def stepped(self, stepped: Stepped) -> None:
        """Write a line if there was none for long."""
        self._pace.see(stepped)
        if self._clock() - self._told >= self._every:
            self.say(self._pace.line(f"loss {stepped.loss:.4f}", stepped.step))

    def evaluated(self, evaluated: Evaluated) -> None:
        """Write the losses."""
        self.say(self._pace.line(_losses(evaluated), evaluated.step))


class Bar(Watcher):
    """Draws a bar with the loss, the pace and the time left, and writes a line above it at each evaluation."""

    def __init__(self, stream: TextIO, clock: Clock = time.perf_counter) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._clock = clock
        self._pace = _Pace(0, clock)
        self._live: Live | None = None
        self._task: Any = None

    def say(self, line: str) -> None:
        """Write a sentence, above the bar where there is one."""
        self._console.print(line, markup=False)

    def preparing(self, what: str, done: float) -> None:
        """Draw how far it is."""
        if self._live is None:
            self._open(1.0, 0.0, "{task.description:<11}{task.percentage:.0f} %")
        self._show(done, what)
        if done >= 1:
            self.ended()

    def begun(self, progress: Progress, steps: int) -> None:
        """Draw the bar."""
        self._pace = _Pace(steps, self._clock)
        self._open(steps, progress.step, "{task.completed}/{task.total}  {task.description}")

    def stepped(self, stepped: Stepped) -> None:
        """Move the bar."""
        self._pace.see(stepped)
        self._show(stepped.step, self._pace.says(f"loss {stepped.loss:.3f}"))

    def evaluated(self, evaluated: Evaluated) -> None:
        """Write the losses above the bar."""
        self.say(self._pace.line(_losses(evaluated), evaluated.step))

    def ended(self) -> None:
        """Take the bar away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _show(self, completed: float, text: str) -> None:
        if self._live is not None:
            self._live.update(self._task, completed=completed, description=text)

    def _open(self, total: float, completed: float, text: str) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Shown

        self._live = Shown(BarColumn(bar_width=24), TextColumn(text), console=self._console, transient=True)
        self._task = self._live.add_task("", total=total)
        self._show(completed, "")
        self._live.start()
