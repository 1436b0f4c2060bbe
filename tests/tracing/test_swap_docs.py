"""The examples of docs/swap.md run one after another and print what the page shows."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "swap.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_print_what_it_shows() -> None:
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(pairs) == 2
    code = "\n".join(code for code, _ in pairs)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(shown for _, shown in pairs)
