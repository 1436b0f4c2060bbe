import io
import os
import pty
import re
import threading

import pytest

from edgewise.training import Evaluated, Progress, Stepped
from edgewise.training.progress import Bar, Lines, duration, watcher_for


class Clock:
    """A clock that stands still until it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def stepped(step: int) -> Stepped:
    return Stepped(step, 4.0 - step / 10, 1e-3, 0.5, 12_345.6, step / 2)


def test_plain_lines_tell_losses_pace_and_time_left() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock, every=2.0)
    lines.begun(Progress(), 100)
    lines.evaluated(Evaluated(0, 4.1234, None, True, 0.0))
    for step in range(1, 6):
        clock.now += 0.75
        lines.stepped(stepped(step))
    lines.evaluated(Evaluated(5, 3.5, 3.7, True, 3.0))
    lines.stepped(stepped(100))
    lines.evaluated(Evaluated(100, 3.0, 3.2, True, 3.0))
    assert stream.getvalue() == (
        "step   0/100  validation 4.1234\n"
        "step   3/100  loss 3.7000  12,346 tokens/s  1:13 left\n"
        "step   5/100  loss 3.7000  validation 3.5000  12,346 tokens/s  1:11 left\n"
        "step 100/100  loss 3.2000  validation 3.0000  12,346 tokens/s\n"
    )


def test_a_long_preparation_is_told_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock, every=1.0)
    for done in (0.1, 0.2, 0.3, 1.0):
        clock.now += 0.6
        lines.preparing("tokens", done)
    assert stream.getvalue() == "tokens     20%\ntokens     100%\n"


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1:00"), (3599.6, "1:00:00")],
)
def test_durations_read_as_people_write_them(seconds: float, says: str) -> None:
    assert duration(seconds) == says


def test_a_terminal_gets_a_bar_and_a_pipe_gets_lines() -> None:
    assert isinstance(watcher_for(io.StringIO()), Lines)
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        assert isinstance(watcher_for(terminal), Bar)
    os.close(reader)


def test_the_bar_shows_loss_pace_and_time_left_and_keeps_the_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    reader, writer = pty.openpty()
    seen = bytearray()

    def read() -> None:
        try:
            while got := os.read(reader, 4096):
                seen.extend(got)
        except OSError:  # the terminal has been closed
            pass

    thread = threading.Thread(target=read)
    thread.start()
    clock = Clock()
    with os.fdopen(writer, "w") as terminal:
        bar = Bar(terminal, clock)
        bar.say("text       [book.txt] as named")
        bar.preparing("tokens", 0.5)
        bar.preparing("tokens", 1.0)
        bar.begun(Progress(), 20)
        bar.evaluated(Evaluated(0, 4.1234, None, True, 0.0))
        for step in range(1, 4):
            clock.now += 0.5
            bar.stepped(stepped(step))
        bar.evaluated(Evaluated(3, 3.9, 3.8, True, 0.0))
        bar.ended()
    thread.join()
    os.close(reader)
    told = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "text       [book.txt] as named" in told
    assert "tokens     100 %" in told
    assert "step  0/20  validation 4.1234" in told
    assert "3/20  loss 3.700  12,346 tokens/s  8.5 s left" in told
    assert "step  3/20  loss 3.8000  validation 3.9000  12,346 tokens/s  8.5 s left" in told
