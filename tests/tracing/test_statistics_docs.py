"""What docs/statistics.md shows is what happens."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from edgewise.records import NEAR, Statistics

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"<!-- example.*?-->\n```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_examples_print_what_is_shown(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(EXAMPLES) == 2
    code, shown = EXAMPLES[number]
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_every_array_is_told() -> None:
    assert {one.name for one in fields(Statistics)} <= set(re.findall(r"`([a-z_]+)`", PAGE))
    assert f"at most {NEAR} positions away" in PAGE
