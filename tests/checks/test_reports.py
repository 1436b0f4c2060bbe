"""What people and programs read of a report: text, JSON, JUnit's XML, HTML."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from edgewise.checks import (
    CheckFailure,
    Finding,
    Observation,
    Report,
    Result,
    Route,
    Sight,
    as_json,
    junit,
    page,
    painted,
)

ROOT = Path(__file__).parents[2]
ASKED = Route(weights=True)
LEAK = Observation(
    "future-leak",
    "A1",
    ASKED,
    "row 0 sees keys 0…3 (full())",
    "row 0 sees key 0 (causal())",
    likely="no mask is applied here",
    site="layers.0.attention",
    head=2,
    query=0,
    key=1,
    size=0.3,
    replay="import torch\nassert moved == 0",
)
DIFFERS = Observation("path-mismatch", "L6", ASKED, "differs by 0.3", "the same")
CELLS = ("■···", "■■··", "■■■·", "■■■■")

HOLDS = Report(
    target="my.py:build",
    subject="called as Layer(x=floats (batch, tokens, 16))\nfloat64",
    expected=Sight("causal()", "declared", CELLS),
    measured=Sight("causal()", "on the plain route", CELLS),
    results=(
        Result("future-leak", "pass", "on 4 routes", routes=4, seconds=0.25),
        Result("packing-leak", "skip", "it takes neither positions nor documents"),
    ),
    routes=(Route(), ASKED),
    passes=1234,
    seconds=0.5,
    settings={"seed": "0"},
)
FAILS = replace(
    HOLDS,
    measured=Sight("full()", "on the plain route", ("■■■■",) * 4),
    results=(
        Result("future-leak", "fail", "A1 on weights asked for", routes=2),
        Result("path-mismatch", "warn", "follows from future-leak A1, see there"),
    ),
    findings=(Finding(LEAK, (ASKED,), (Route(),), (DIFFERS,), "2 tokens, batch of one"),),
)


def test_a_report_that_holds_fits_one_screen() -> None:
    assert str(HOLDS) == (
        "edgewise check my.py:build\n"
        "  called as Layer(x=floats (batch, tokens, 16))\n"
        "  float64\n"
        "\n"
        "  expected  causal()   declared\n"
        "  measured  causal()   on the plain route\n"
        "\n"
        "  ✓ pass  future-leak   on 4 routes\n"
        "  – skip  packing-leak  it takes neither positions nor documents\n"
        "\n"
        "holds, as far as could be told: 1 of 2 skipped  (1,234 forward passes, 0.5 s, 2 routes)"
    )


def test_a_fault_is_told_with_all_that_helps_to_find_it() -> None:
    assert str(FAILS) == (
        "edgewise check my.py:build\n"
        "  called as Layer(x=floats (batch, tokens, 16))\n"
        "  float64\n"
        "\n"
        "  expected  causal()   declared\n"
        "  measured  full()   on the plain route\n"
        "            expected    measured\n"
        "  query   0 ■···        ■■■■  ← differs\n"
        "  query   1 ■■··        ■■■■  ← differs\n"
        "  query   2 ■■■·        ■■■■  ← differs\n"
        "  query   3 ■■■■        ■■■■\n"
        "\n"
        "  ✗ fail  future-leak    A1 on weights asked for\n"
        "  ! warn  path-mismatch  follows from future-leak A1, see there\n"
        "\n"
        "✗ fail  future-leak A1\n"
        "  routes    weights asked for\n"
        "  clean     the plain route\n"
        "  where     layers.0.attention, head 2\n"
        "  measured  row 0 sees keys 0…3 (full())\n"
        "  expected  row 0 sees key 0 (causal())\n"
        "  likely    no mask is applied here\n"
        "  smallest  2 tokens, batch of one\n"
        "  follows   path-mismatch L6, weights asked for: differs by 0.3\n"
        "  replay\n"
        "    import torch\n"
        "    assert moved == 0\n"
        "\n"
        "1 fault  (1,234 forward passes, 0.5 s, 2 routes)"
    )


def test_colour_adds_nothing_that_plain_text_does_not_say() -> None:
    for report in (HOLDS, FAILS):
        assert painted(report).plain == str(report)


def test_long_lines_are_wrapped_below_their_own_beginning() -> None:
    long = replace(HOLDS, results=(Result("scale", "skip", "a reason " * 20),))
    lines = str(long).splitlines()
    assert max(map(len, lines)) <= 100
    begins = lines.index(next(line for line in lines if "scale" in line)) + 1
    assert re.match(r" {17}\w", lines[begins])


@pytest.mark.parametrize(
    ("report", "status", "verdict"),
    [
        (HOLDS, 0, "holds, as far as could be told: 1 of 2 skipped"),
        (replace(HOLDS, results=HOLDS.results[:1]), 0, "holds"),
        (FAILS, 1, "1 fault"),
        (replace(FAILS, findings=FAILS.findings * 2), 1, "2 faults"),
        (replace(HOLDS, results=HOLDS.results[1:]), 2, "nothing could be told"),
        (
            replace(HOLDS, results=(Result("scale", "skip", "error", mistake="KeyError: 'x'"),)),
            2,
            "edgewise itself failed at scale",
        ),
        (
            replace(HOLDS, unsound="its answer to a plain input is not finite"),
            2,
            "nothing could be told: its answer to a plain input is not finite",
        ),
        (replace(FAILS, accepted={0: "allowed: known"}), 0, "holds"),
        (replace(FAILS, findings=(Finding(replace(LEAK, warning=True), (ASKED,)),)), 0, "holds"),
    ],
)
def test_the_verdict_and_the_exit_status_say_the_same(report: Report, status: int, verdict: str) -> None:
    assert (report.exit_status, report.verdict) == (status, verdict)


def test_raising_for_failures_tells_the_whole_report_and_else_returns_it() -> None:
    assert HOLDS.raise_for_failures() is HOLDS
    with pytest.raises(CheckFailure, match=r"my\.py:build: 1 fault") as raised:
        FAILS.raise_for_failures()
    assert str(FAILS) in str(raised.value)
    assert isinstance(raised.value, AssertionError)


def documented(title: str) -> dict[str, str]:
    """The fields of a table in docs/check-json.md, each with its type."""
    text = (ROOT / "docs" / "check-json.md").read_text(encoding="utf-8")
    part = text.split(f"## {title}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", part, re.MULTILINE))


TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
    "null": type(None),
}


def held_against(told: dict[str, Any], title: str, *, without: tuple[str, ...] = ()) -> None:
    fields = {name: kind for name, kind in documented(title).items() if name not in without}
    assert told.keys() == fields.keys()
    for name, kind in fields.items():
        assert any(isinstance(told[name], TYPES[one]) for one in kind.split(" or ")), (name, kind, told[name])


@pytest.mark.parametrize("report", [HOLDS, FAILS])
def test_json_has_the_documented_fields_and_no_others(report: Report) -> None:
    told = json.loads(report.json())
    held_against(told, "The report")
    for one in told["properties"]:
        held_against(one, "A property")
    for one in told["findings"]:
        held_against(one, "A finding")
        for also in one["consequences"]:
            held_against(also, "A finding", without=("clean", "smallest", "replay", "accepted", "consequences"))


def test_json_says_what_the_report_says() -> None:
    told = json.loads(FAILS.json())
    assert (told["expected"], told["measured"], told["exit"]) == ("causal()", "full()", 1)
    (fault,) = told["findings"]
    assert (fault["property"], fault["kind"], fault["site"], fault["head"]) == (
        *("future-leak", "A1"),
        *("layers.0.attention", 2),
    )
    assert fault["routes"] == ["weights=asked for · mask=none · batch=2"]
    assert (fault["size"], fault["noise"]) == (0.3, None)
    assert fault["consequences"][0]["kind"] == "L6"


def test_warnings_are_no_findings_in_json() -> None:
    told = json.loads(replace(FAILS, findings=(Finding(replace(LEAK, warning=True), (ASKED,)),)).json())
    assert told["findings"] == []
    assert told["warnings"][0]["status"] == "warn"


def test_several_reports_are_the_first_with_all_of_them_inside() -> None:
    told = json.loads(as_json(FAILS, HOLDS))
    assert told["exit"] == 1
    assert [one["exit"] for one in told["reports"]] == [1, 0]


def test_junit_has_a_case_a_property() -> None:
    suite = Xml.fromstring(junit(FAILS, replace(HOLDS, target="other\x00")))
    assert [one.get("name") for one in suite] == ["my.py:build", "other"]
    cases = {one.get("name"): one for one in suite[0].iter("testcase")}
    assert (suite[0].get("tests"), suite[0].get("failures"), suite[0].get("skipped")) == ("2", "1", "0")
    failure = cases["future-leak"].find("failure")
    assert failure is not None
    assert "no mask is applied here" in str(failure.text)
    assert cases["path-mismatch"].find("failure") is None
    skipped = next(one for one in suite[1].iter("skipped"))
    assert skipped.get("message") == "it takes neither positions nor documents"


def test_junit_tells_our_own_mistake_as_an_error() -> None:
    failed = replace(HOLDS, results=(Result("scale", "skip", "error: …", mistake="KeyError: 'x'"),))
    (case,) = Xml.fromstring(junit(failed)).iter("testcase")
    error = case.find("error")
    assert error is not None
    assert error.text == "KeyError: 'x'"


class Asks(HTMLParser):
    """Everything in a page that would ask for something, and tags that are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.asks: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.asks += [f"{tag} {name}={value}" for name, value in attrs if name in ("src", "href", "action", "data")]
        self.asks += [tag] * (tag in ("script", "link", "iframe", "img"))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("reports", [(HOLDS,), (FAILS,), (FAILS, HOLDS)])
def test_the_page_is_whole_and_asks_for_nothing(reports: tuple[Report, ...]) -> None:
    text = page(*reports)
    parser = Asks()
    parser.feed(text)
    assert (parser.asks, parser.open) == ([], [])
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme:dark" in text


def test_the_page_tells_the_fault_and_marks_cells_that_differ_by_more_than_colour() -> None:
    text = page(FAILS)
    assert "no mask is applied here" in text
    assert text.count('ew-differs">!</td>') == 6
    assert "layers.0.attention, head 2" in text


def test_what_a_target_says_is_text_in_the_page() -> None:
    assert "<script>alert" not in page(replace(HOLDS, target="<script>alert(1)</script>"))


def test_a_notebook_shows_the_report() -> None:
    shown = FAILS._repr_html_()
    assert shown.startswith("<style>")
    assert "future-leak" in shown
