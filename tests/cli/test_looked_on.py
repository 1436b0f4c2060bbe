"""What a person who waits is told while a model runs."""

from typing import Any

import pytest
import torch
from torch import nn

from edgewise.cli.looked_on import looked_on
from edgewise.cli.telling import telling
from edgewise.tracing import Feed, Given, feed, record, tiny_target

Told = list[tuple[str, float | None, float | None, str]]


def test_a_run_is_told_of_untouched_and_then_call_by_call() -> None:
    told: Told = []
    layer = nn.MultiheadAttention(8, 2).eval()
    fed = looked_on(Feed((torch.ones(5, 1, 8),) * 3), lambda *said: told.append((*said, *(None,) * (4 - len(said)))))  # type: ignore[arg-type]
    record(layer, fed.inputs, forward=fed.forward)
    assert [one[0] for one in told] == ["running untouched", "watched", "watched: 1 calls, MultiheadAttention"]
    _, done, of, _ = told[-1]
    assert done is not None
    assert of is not None
    assert 0 < done < of


def test_what_is_written_is_counted_in_tokens() -> None:
    pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")
    told: Told = []
    target = tiny_target("gpt2")
    fed = feed(target, Given(ids=(50, 51, 52), generate=3))
    fed = looked_on(fed, lambda *said: told.append(said) if len(said) == 4 else None)  # type: ignore[arg-type]
    record(target.model, fed.inputs, forward=fed.forward, copy=True)
    steps = [(float(done), 3, "tokens") for done in range(4)]
    assert [one[1:] for one in told] == steps * 2
    assert [one[0] for one in told] == ["running untouched"] * 4 + ["watched"] * 4


def test_nobody_at_a_terminal_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with telling() as tell:
        tell("loading the model")
        tell("reading", 1, 2, "tokens")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_runs_how_much_of_it_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown: Any = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with telling() as tell:
        for done in range(5):
            tell("running untouched", done, 4, "tokens")
    assert "running untouched" in shown.getvalue()
    assert "tokens/s" in shown.getvalue()
