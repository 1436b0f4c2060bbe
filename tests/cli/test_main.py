import subprocess
import sys

import pytest

import edgewise
from edgewise.cli import main
from edgewise.cli import main as door
from edgewise.cli.main import COMMANDS


def test_help_names_every_command_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    told = capsys.readouterr().out
    for command in COMMANDS:
        assert command.name in told
        assert command.summary.split()[0] in told


def test_every_command_has_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            main([command.name, "--help"])
        assert stop.value.code == 0
        assert f"usage: edgewise {command.name}" in capsys.readouterr().out


def test_version_is_the_packages_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"edgewise {edgewise.__version__}\n"


def test_no_command_is_a_mistake_of_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "the following arguments are required: COMMAND" in capsys.readouterr().err


def test_a_mistake_is_one_sentence_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert door(["train", "no-such-file.txt"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("edgewise: ")
    assert "no-such-file.txt" in told
    assert told.count("\n") == 1


def test_python_m_edgewise_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "edgewise", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"edgewise {edgewise.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m edgewise derive | head -1", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
