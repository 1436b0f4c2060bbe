"""The zoo: a row for each type, whatever becomes of the process that makes it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgewise.errors import TraceError

pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SCRIPTS)
    import zoo  # pyright: ignore[reportMissingImports] - a script

    return zoo


def test_a_type_that_is_captured_has_calls_routes_residual_and_proof(zoo: Any) -> None:
    row = zoo.row("gpt2")
    assert row["outcome"] == "captured"
    assert (row["calls"], row["captured"], row["missed"], row["difference"]) == (2, 2, 0, 0)
    assert row["routes"] == {"transformers: sdpa": 2}
    assert row["residual"] < 1e-6


def test_a_type_without_softmax_attention_is_not_asked_for_any(zoo: Any) -> None:
    assert zoo.row("mamba")["outcome"] == "no softmax attention"


def test_what_is_missed_is_found_without_our_capture(zoo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import edgewise.tracing

    whole = edgewise.tracing.record
    monkeypatch.setattr(edgewise.tracing, "record", lambda model, inputs, **how: whole(model, inputs, sites=0, **how))
    row = zoo.row("gpt2")
    assert (row["outcome"], row["missed"]) == ("captured in part", 1)


def test_what_is_not_explained_is_not_captured(zoo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise TraceError("a difference of 1.0")

    monkeypatch.setattr("edgewise.tracing.record", refuse)
    row = zoo.row("gpt2")
    assert (row["outcome"], row["why"]) == ("not captured", "a difference of 1.0")


def test_a_table_that_is_made_again_takes_its_place_when_it_is_whole(zoo: Any, tmp_path: Path) -> None:
    out, part = tmp_path / "zoo.json", tmp_path / "zoo.part"
    hand = [{"type": "torch: nn.Transformer", "outcome": "captured"}]
    out.write_text(zoo.text([{"type": "gpt2", "outcome": "failed"}], hand), encoding="utf-8")
    before = out.read_text(encoding="utf-8")
    begun = zoo.Table(part, out)
    begun.rows["gpt2"] = {"type": "gpt2", "outcome": "captured"}
    begun.write()
    assert out.read_text(encoding="utf-8") == before
    again = zoo.Table(part, out)
    assert again.rows.keys() == {"gpt2"}
    again.close()
    held = json.loads(out.read_text(encoding="utf-8"))
    assert (held["rows"][0]["outcome"], held["by_hand"]) == ("captured", hand)
    assert not part.exists()


def test_progress_says_how_fast_and_how_long_it_will_take(zoo: Any) -> None:
    said = zoo._progress(10, 40, 30.0, {"type": "gpt2", "outcome": "captured"})
    assert said == "10/40  gpt2: captured  (20 a minute, 1:30 left)"


def test_a_site_that_is_not_explained_and_has_no_call_is_missed(zoo: Any) -> None:
    row = zoo.row("inkling2_text")
    assert row["outcome"] == "captured in part"
    assert "their sinks are not one a head" in row["why"]


@pytest.mark.slow
def test_rows_are_kept_and_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "zoo.json"
    command = [sys.executable, SCRIPTS / "zoo.py", "--workers", "1", "--out", out, "gpt2", "mamba"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 captured, 1 no softmax attention" in done.stdout
    held = json.loads(out.read_text(encoding="utf-8"))
    assert [row["type"] for row in held["rows"]] == ["gpt2", "mamba"]
    assert held["made"].keys() >= {"date", "torch", "transformers"}
