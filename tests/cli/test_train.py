import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from edgewise.cli import main
from edgewise.cli.train import HOW, RECIPE, SIZE
from edgewise.ladder import Size
from edgewise.training import SIZES, How, Recipe, RunFolder

VERSE = "the cat sat on the mat, and the rat ran past the hat\n"
TINY = ["--layers=1", "--heads=2", "--width=16", "--block=8", "--batch=4", "--steps=4", "--precision=float32"]
TINY += ["--compiled=no"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text(VERSE * 40)


def test_a_text_is_trained_on_and_the_run_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "book.txt", *TINY]) == 0
    told = capsys.readouterr().out
    assert "folder     runs/book-1\n" in told
    assert told.endswith("next       edgewise sample runs/book-1 --prompt the\n")
    assert main(["train", "--resume", "runs/book-1", "--steps", "6"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("resumed    runs/book-1 after step 4\n")
    assert re.search(r"step 6/6  loss \d\.\d{4}  validation \d\.\d{4}  [\d,]+ tokens/s\n", told)


def test_the_command_it_ends_with_runs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "book.txt", *TINY])
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("next").split()
    assert command[:2] == ["edgewise", "sample"]
    assert main([*command[1:], "--tokens", "5"]) == 0


def test_every_number_reaches_the_run() -> None:
    given = ["--accumulate", "2", "--learning-rate", "0.01", "--warm-up", "2", "--weight-decay", "0.2", "--clip", "0.5"]
    given += ["--evaluate-every", "3", "--seed", "7", "--optimiser", "adamw", "--dropout", "0.1", "--rung", "scale"]
    assert main(["train", "book.txt", *TINY, *given, "--validation", "0.2", "--out", "run"]) == 0
    about = RunFolder(Path("run")).about()
    assert about.size == Size(vocabulary=15, block=8, width=16, heads=2, layers=1, dropout=0.1)
    assert (about.rung, about.precision, about.compiled, about.held_out) == ("scale", "float32", False, 424)
    told = about.recipe.to_json()
    for name, value in (
        ("accumulate", 2),
        ("learning_rate", 0.01),
        ("warm_up", 2),
        ("weight_decay", 0.2),
        ("clip", 0.5),
        ("evaluate_every", 3),
        ("seed", 7),
        ("optimiser", "adamw"),
        ("steps", 4),
        ("batch", 4),
    ):
        assert told[name] == value, name


def test_standard_input_is_a_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edgewise", "train", "-", *TINY],
        input=VERSE * 40,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "text       the text is standard input, as named\n" in done.stdout
    assert "folder     runs/stdin-1\n" in done.stdout


def test_a_reader_that_goes_away_leaves_nothing_half_made() -> None:
    done = subprocess.run(
        f"{sys.executable} -u -m edgewise train book.txt {' '.join(TINY)} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert (done.stdout, done.stderr) == ("text       the text is book.txt, as named\n", "")
    assert not list(Path("runs").glob(".*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "wanted text; there is no file or folder none.txt"),
        (["book.txt", "--heads", "3", "--width", "16"], "width must be a multiple of heads; got width=16 for heads=3"),
        (["book.txt", "--size", "huge"], "no size is called 'huge'; the sizes are tiny, small, medium, large"),
        (["book.txt", "--rung", "gtp"], "no rung is called 'gtp' (did you mean 'gpt'?); the rungs are "),
        (["book.txt", "--steps", "0"], "wanted steps to be a whole number, at least 1; got 0"),
        (["book.txt", "--learning-rate", "-1"], "wanted a learning_rate above 0; got -1.0"),
        (["book.txt", "--block", "0"], "block must be a whole number, at least 1; got 0"),
        (["book.txt", "--precision", "half"], "precision must be auto, float32 or bfloat16; got 'half'"),
        (["book.txt", "--device", "tpu"], "device must be auto, cpu or, where a GPU is, cuda; got 'tpu'"),
        (["--resume", "none"], "wanted a run folder, as edgewise train makes it; none does not exist"),
        (
            ["book.txt", "--resume", "none", "--learning-rate", "1"],
            "a resumed run keeps what it began with; got a path and --learning-rate beside --resume; only --steps may",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"edgewise: {message}")
    assert told.count("\n") == 1
    assert not Path("runs").exists()


def test_the_help_names_every_size_and_what_the_trainer_knows(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert ", ".join(SIZES).replace(", large", " or large") in told
    assert set(HOW) == {field.name for field in fields(How)}
    assert set(SIZE) == {field.name for field in fields(Size)} - {"vocabulary"}
    for name, (_, text, default) in RECIPE.items():
        assert getattr(Recipe(), name) == default, name
        assert f"{text} (default: {default})" in told
