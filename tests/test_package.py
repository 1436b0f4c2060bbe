"""The package as a newcomer meets it: light to import, verbs at the top, the same version everywhere, typed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import edgewise

ROOT = Path(__file__).parents[1]
HEAVY = "{'torch', 'numpy', 'rich', 'matplotlib', 'safetensors', 'tokenizers', 'transformers'}"


def loaded_after(code: str) -> str:
    """Run `code` in a fresh interpreter and return which heavy packages it has loaded."""
    report = f"{code}\nimport sys\nprint(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def test_importing_edgewise_loads_nothing_heavy() -> None:
    assert loaded_after("import edgewise") == "[]"


def test_help_loads_nothing_heavy() -> None:
    asks = "import edgewise.cli, contextlib\nwith contextlib.suppress(SystemExit): edgewise.cli.main(['--help'])"
    assert loaded_after(asks) == "[]"


def test_graphs_load_no_torch() -> None:
    assert "torch" not in loaded_after("import edgewise.graphs, edgewise.axes, edgewise.errors, edgewise.samples")


def test_every_verb_at_the_top_is_there() -> None:
    for name in edgewise.__all__:
        assert getattr(edgewise, name) is not None
    assert set(edgewise.__all__) <= set(dir(edgewise))


def test_an_unknown_verb_says_what_is_offered() -> None:
    with pytest.raises(
        AttributeError, match="module 'edgewise' has no attribute 'attendd'; it offers __version__, attend"
    ):
        _ = edgewise.attendd


def test_the_pins_lie_within_the_ranges_of_the_package() -> None:
    from packaging.requirements import Requirement

    pins = dict(
        line.split("==") for line in (ROOT / "pins.txt").read_text().splitlines() if line and not line.startswith("#")
    )
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for text in project["project"]["dependencies"] + project["dependency-groups"]["dev"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(pins[wanted.name.lower()]), text
    assert pins["torch"] == "2.13.0"


def test_the_changelog_tells_of_this_version() -> None:
    assert f"## {edgewise.__version__}" in (ROOT / "CHANGELOG.md").read_text()
