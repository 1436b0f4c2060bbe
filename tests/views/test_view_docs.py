"""What docs/view.md shows is what happens."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "view.md").read_text(encoding="utf-8")


def test_the_example_runs_and_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], {})
    assert capsys.readouterr().out == re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)[1]
