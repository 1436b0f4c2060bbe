"""The table of every architecture: what it must show, and that its page is made from it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def held() -> dict[str, Any]:
    return json.loads((ROOT / "docs" / "zoo.json").read_text(encoding="utf-8"))


@pytest.fixture
def rows(held: dict[str, Any]) -> list[dict[str, Any]]:
    return held["rows"]


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


def test_what_stands_in_attention_s_place_and_why_are_said_of_the_types_that_need_it(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from zoo_reasons import INSTEAD, WHY  # pyright: ignore[reportMissingImports] - a script

    outcomes = {row["type"]: row["outcome"] for row in rows}
    assert {name for name, outcome in outcomes.items() if outcome == "no softmax attention"} <= INSTEAD.keys()
    assert all(outcomes[name] in ("captured in part", "not captured", "not built") for name in WHY)


def test_other_code_is_captured_too(held: dict[str, Any]) -> None:
    sources = {row["kind"] for row in held["by_hand"] if row["outcome"] == "captured"}
    assert {"torch", "nanoGPT", "minGPT", "x-transformers", "vit-pytorch", "timm", "llms-from-scratch"} <= sources


def test_the_page_is_made_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from zoo_page import zoo  # pyright: ignore[reportMissingImports] - a script

    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    held = re.search(r"<!-- zoo: made by scripts/docs -->\n(.*)<!-- end -->", page, re.DOTALL)
    assert held is not None
    assert held[1] == zoo()
