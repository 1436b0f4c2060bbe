"""The table of every architecture: what it must show, and that its page is made from it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return json.loads((ROOT / "docs" / "zoo.json").read_text(encoding="utf-8"))["rows"]


def test_of_the_types_with_softmax_attention_nineteen_in_twenty_are_captured_whole(rows: list[dict[str, Any]]) -> None:
    softmax = [row for row in rows if row["outcome"] in ("captured", "captured in part", "not captured", "failed")]
    captured = [row for row in rows if row["outcome"] == "captured"]
    assert len(captured) >= 300
    assert len(captured) >= 0.95 * len(softmax)


def test_every_captured_call_is_explained_and_looking_changed_no_output(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["outcome"] == "captured":
            assert row["captured"] >= row["calls"], row["type"]
            assert row["difference"] <= row["noise"], row["type"]


def test_every_type_that_is_not_captured_has_a_reason(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["outcome"] in ("captured", "no softmax attention") or row["why"], row["type"]


def test_the_page_is_made_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from zoo_page import zoo  # pyright: ignore[reportMissingImports] - a script

    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    held = re.search(r"<!-- zoo: made by scripts/docs -->\n(.*)<!-- end -->", page, re.DOTALL)
    assert held is not None
    assert held[1] == zoo()
