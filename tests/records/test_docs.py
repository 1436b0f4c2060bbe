"""What docs/record.md says of the file is so."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from edgewise.graphs import causal
from edgewise.records import Call, Record, Site, save
from edgewise.records.writer import FORMAT, VERSION

PAGE = (Path(__file__).parents[2] / "docs" / "record.md").read_text(encoding="utf-8")


def test_the_example_that_needs_no_edgewise_runs(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save(Record([make.call(graph=causal())]), tmp_path / "run.edgewise")
    monkeypatch.chdir(tmp_path)
    example = re.search(r"<!-- example.*?-->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    exec(example[1], {})
    assert capsys.readouterr().out == "layers.0.attention causal() (5, 7)\n"
    assert len(list(filter(None, example[1].splitlines()))) <= 15


def test_the_example_that_uses_edgewise_runs(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site("model.layers.3.self_attn", 3, "self", 6, 2, 3)
    save(Record([make.call(heads=6, query=70, key=70, graph=causal(), site=site)]), tmp_path / "run.edgewise")
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(from edgewise.*?)```", PAGE, re.DOTALL)[1], {})
    assert capsys.readouterr().out.startswith("query 12 reads key 3 (head 5, sequence 0)")


def test_every_field_of_a_record_and_of_a_call_is_told() -> None:
    told = set(re.findall(r"`([a-z_]+)`", PAGE))
    assert {one.name for kind in (Record, Call, Site) for one in fields(kind)} <= told
    assert f'`"{FORMAT}"` and {VERSION}' in PAGE
