"""What the docs take from the code is what the code says now, and every link inside the repository leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def test_every_block_made_from_the_code_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "docs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_test_file_that_a_convention_names_exists() -> None:
    for named in re.findall(r"`(tests/[^`]+)`", (ROOT / "CONVENTIONS.md").read_text(encoding="utf-8")):
        assert (ROOT / named).is_file(), named


def test_the_import_direction_that_is_drawn_is_the_one_that_is_checked() -> None:
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "one-way")
    drawn = " → ".join(layer for layer in layers if layer != "__main__")
    assert drawn in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
