"""What docs/check.md shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

from edgewise.cli.main import parser

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_prints_what_the_page_shows() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    done = subprocess.run([sys.executable, "-c", found[1]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == found[2]


def test_every_option_that_the_page_names_is_one() -> None:
    parsed = parser()
    told = " ".join(re.findall(r"`[^`]*`", PAGE)) + " ".join(re.findall(r"\$ edgewise.*", PAGE))
    check = next(one for one in parsed._actions if one.choices and "check" in one.choices).choices["check"]  # type: ignore[index]
    known = {name for action in check._actions for name in action.option_strings}
    named = set(re.findall(r"--[a-z-]+", told)) - {"--edgewise", "--edgewise-graph"}
    assert named <= known, named - known
