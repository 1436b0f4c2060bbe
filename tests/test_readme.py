"""The README's commands do what it says, its Python prints what it shows, and it stops in time."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line.removeprefix("$ "), comments=True)
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]
OURS = [command[1:] for command in COMMANDS if command[0] == "scripts/run" and command[1:]]


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "edgewise", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "EDGEWISE_OFFLINE": "1", "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_opens_with_the_two_commands_of_a_fresh_clone() -> None:
    assert [command[0] for command in COMMANDS[:2]] == ["scripts/run", "scripts/test"]
    for command in COMMANDS:
        assert os.access(ROOT / command[0], os.X_OK), command


@pytest.mark.slow
def test_the_readmes_commands_run_one_after_another(tmp_path: Path) -> None:
    import pydoc_data.topics

    (tmp_path / "mybook.txt").write_text("\n".join(pydoc_data.topics.topics.values())[:60_000], encoding="utf-8")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    told: dict[str, str] = {}
    for arguments in OURS:
        quick = ["--steps", "30"] if arguments[0] == "train" and "--resume" not in arguments else []
        told[" ".join(arguments)] = run([*arguments, *quick], tmp_path)
    assert 'sample --prompt "The "' in README
    assert told["sample --prompt The "].startswith("The ")
    assert "scores = self.query(x) @ self.key(x).transpose(-2, -1)" in told["derive scores"]
    assert "✓ holds     scale.variance-grows" in told["derive --claims scale"]
    assert (tmp_path / "runs" / "mybook" / "last.safetensors").is_file()
    assert told["sample runs/mybook --prompt The  --count 2"].count("The ") >= 2
    assert told["view --print"].startswith("edgewise's own small GPT\n")
    assert (tmp_path / "heads.html").read_bytes().startswith(b"<!doctype html>")
    assert "holds" in told["check examples/my_attention.py:build"]
    assert "transformer.h.0.attn" in told["view tiny.edgewise --print"]


def test_the_readmes_python_prints_what_the_readme_shows() -> None:
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
    assert len(code.splitlines()) <= 12


def test_the_readme_stops_in_time() -> None:
    assert len(README.splitlines()) <= 120


def test_the_picture_of_the_readme_is_drawn_by_the_example(tmp_path: Path) -> None:
    example = ROOT / "examples" / "one_line_changed.py"
    subprocess.run([sys.executable, example, tmp_path / "one-line-changed"], check=True)
    for theme in ("light", "dark"):
        drawn = (tmp_path / f"one-line-changed-{theme}.svg").read_text()
        assert drawn.startswith("<?xml")
        assert (ROOT / "docs" / f"one-line-changed-{theme}.svg").is_file()
