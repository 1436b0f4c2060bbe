import io
import sys

import pytest

from edgewise.cli.bar import bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_and_what_is_printed_stays_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with bar() as watch:
        for done in range(1, 4):
            watch("split (1 of 2)", done, 4)
        sys.stdout.write("a line of text\n")
        for done in range(1, 5):
            watch("loop (2 of 2)", done, 4)
    assert capsys.readouterr().out == "a line of text\n"
    drawn = screen.getvalue()
    assert "loop (2 of 2)" in drawn or "split (1 of 2)" in drawn


def test_nothing_is_drawn_where_standard_error_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with bar() as watch:
        watch("split (1 of 2)", 1, 4)
    assert capsys.readouterr().err == ""
