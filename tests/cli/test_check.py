"""`edgewise check`, as it is typed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import torch

import edgewise
from edgewise.cli import main
from edgewise.cli.sweep import table, told

CODE = """
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, right):
        super().__init__()
        self.right = right
        self.project = nn.Linear(16, 48).double()

    def forward(self, x, weights=False):
        query, key, value = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        if not weights:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(2)
        scores = query @ key.mT / 2
        if self.right:
            tokens = x.shape[1]
            scores = scores.masked_fill(~torch.ones(tokens, tokens, dtype=torch.bool).tril(), float("-inf"))
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)


def right():
    return Layer(True)


def wrong():
    return Layer(False)


def attention(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "layers_under_check.py").write_text(CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """What the command printed: on standard output, or of a mistake on standard error."""
    assert main(["check", *arguments]) == status
    told = capsys.readouterr()
    return told.err if status == 2 else told.out


RIGHT, WRONG = "layers_under_check.py:right", "layers_under_check.py:wrong"


def test_a_layer_that_holds_is_one_screen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, RIGHT)
    assert told.startswith(f"edgewise check {RIGHT}\n")
    assert "  expected  causal()" in told
    assert "✗" not in told
    assert len(told.splitlines()) <= 30


def test_a_layer_that_fails_is_exit_1_and_tells_route_and_cause(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, WRONG, "--graph", "causal()", status=1)
    assert "✗ fail  future-leak A1" in told
    assert "routes    weights asked for" in told
    assert f"model = target('{WRONG}').model" in told


def test_json_is_one_object(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, WRONG, "--json", status=1))
    assert [(one["property"], one["kind"]) for one in told["findings"]] == [("future-leak", "A1")]
    assert all("weights=asked for" in route for route in told["findings"][0]["routes"])


def test_a_function_is_a_target(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ("--only", "scale", "--only", "normalisation")
    assert "✓ pass  scale" in said(capsys, "layers_under_check.py:attention", *only)


def test_files_are_written_for_machines_and_people(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, WRONG, "--only", "future-leak", "--junit", "out.xml", "--html", "out.html", status=1)
    assert Xml.parse(here / "out.xml").getroot().find("testsuite/testcase/failure") is not None
    assert "no mask is applied" in (here / "out.html").read_text(encoding="utf-8")


def test_a_baseline_is_written_and_then_known(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ("--only", "future-leak")
    told = said(capsys, WRONG, *only, "--write-baseline", "known.json")
    assert told == "wrote known.json: 1 known fault; check against it with --baseline known.json\n"
    assert "known: it is in the baseline" in said(capsys, WRONG, *only, "--baseline", "known.json")


def test_what_is_allowed_needs_a_reason(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    allowed = said(capsys, WRONG, "--only", "future-leak", "--allow", "future-leak=weights are for looking at")
    assert "allowed: weights are for looking at" in allowed
    assert "--allow wants a reason, like --allow future-leak='known since 2.1, see #12'; got 'future-leak'" in said(
        capsys, WRONG, "--allow", "future-leak", status=2
    )


def test_what_is_declared_reaches_the_check(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, RIGHT, "--only", "scale", "--scale", "0.25", status=1)
    assert "scale" in told
    assert "0.25" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "wanted one model to look at, TARGET or --tiny TYPE"),
        ((RIGHT, "--only", "futur-leak"), "there is no property 'futur-leak': did you mean future-leak?"),
        ((RIGHT, "--graph", "windo(3)"), "wanted a graph, such as window(128)"),
        ((RIGHT, "--length", "2"), "length must be at least 4 tokens"),
        (("layers_under_check.py:nothing",), "wanted nothing of layers_under_check.py:nothing; there is none"),
        ((RIGHT, "--baseline", "none.json"), "wanted a baseline; there is no file none.json"),
        ((RIGHT, "--html", "nowhere/out.html"), "wanted a place for out.html; there is no folder nowhere"),
        ((RIGHT, "--tiny", "all"), f"wanted one model to look at: got {RIGHT} and --tiny all"),
        (("--explain", "scales"), "there is no property 'scales': did you mean scale?"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    told = said(capsys, *arguments, status=2)
    assert told.startswith(f"edgewise: {says}")
    assert len(told.splitlines()) == 1


def test_a_property_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "--explain", "future-leak")
    assert told.startswith("future-leak: ")
    assert "  A1  " in told
    assert "huggingface/transformers#" in told


def test_the_table_of_a_sweep_tells_failures_one_by_one_and_counts_the_rest() -> None:
    rows: dict[str, dict[str, Any]] = {
        "gpt2": {"outcome": "holds", "why": ""},
        "roformer": {"outcome": "fails", "why": "future-leak A1: row 0 sees keys 0…7"},
        "odd": {"outcome": "failed", "why": "took longer than 180 s"},
    }
    assert table(rows) == (
        "roformer                     fails            future-leak A1: row 0 sees keys 0…7\n"
        "odd                          failed           took longer than 180 s\n"
        "1 holds, 1 fails, 1 failed"
    )


@pytest.mark.slow
def test_a_type_for_which_time_ran_out_does_not_hold_whole() -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    report = edgewise.check(layer, only=["scale", "batch-leak"])
    late = replace(report, results=(report.results[0], replace(report.results[1], status="skip", why="time ran out")))
    assert told(report) == ("holds", "")
    assert told(late) == ("holds in part", f"time ran out at {report.results[1].name}")


def test_a_sweep_keeps_rows_goes_on_and_says_what_failed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")
    import edgewise.tracing.tiny as small

    monkeypatch.setattr(small, "types", lambda: {"gpt2": "causal-LM", "no-such-type": "causal-LM"})
    monkeypatch.setattr(small, "tasks", lambda name: ("",))
    kept = {"rows": [{"name": "no-such-type", "outcome": "not built", "why": "held from before"}]}
    (here / "rows.json").write_text(json.dumps(kept), encoding="utf-8")
    told = json.loads(
        said(capsys, "--tiny", "all", "--json", "--resume", "rows.json", "--only", "future-leak", "--workers", "1")
    )
    rows = {row["name"]: row for row in told["rows"]}
    assert rows["gpt2"]["outcome"] == "holds"
    assert rows["gpt2"]["report"]["properties"][0]["status"] == "pass"
    assert rows["no-such-type"]["why"] == "held from before"


@pytest.mark.slow
def test_a_tiny_type_holds(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")
    assert "expected  causal()   config" in said(capsys, "--tiny", "gpt2", "--only", "future-leak")
