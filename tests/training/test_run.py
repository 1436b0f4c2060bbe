import re
from pathlib import Path
from typing import Any

import pytest

import edgewise
from edgewise.errors import ArgumentError, DataError, EdgewiseError, MissingError, RunError
from edgewise.ladder import Size
from edgewise.training import How, Recipe, Run, Watcher, train

SIZE = Size(vocabulary=1, block=8, width=16, heads=2, layers=1)
RECIPE = Recipe(steps=4, batch=4, evaluate_every=2, warm_up=1)
PLAIN = How(precision="float32", compiled="no")


def trained(book: Any, folder: Path, watch: Watcher, **given: Any) -> Run:
    return train(book, **{"size": SIZE, "recipe": RECIPE, "how": PLAIN, "out": folder, "watch": watch, **given})


def test_a_run_tells_what_it_does_and_ends_with_the_next_command(book: Path, tmp_path: Path, told: Any) -> None:
    run = trained(book, tmp_path / "run", told)
    lines = [re.sub(r"\d+\.\d+", "#", line.replace(str(tmp_path), "DIR")) for line in told.lines]
    assert lines[0] == "text       the text is DIR/book.txt, as named"
    assert re.fullmatch(
        r"tokens     [\d,]+ \(characters, 37 of them\); the last 10% are held out for validation", lines[1]
    )
    assert re.fullmatch(r"model      gpt: 1 layers, 2 heads, width 16, block 8; [\d,]+ parameters", lines[2])
    assert lines[3].startswith("recipe     4 steps of 4 windows of 8 tokens; ")
    assert lines[4].startswith("device     ")
    assert lines[5:] == [
        "precision  float32: as asked",
        "compiled   no: as asked",
        "folder     DIR/run",
        f"done       4 steps in # s; validation #, best # at step {run.progress.best_step}",
        "picture    DIR/run/curves.svg and DIR/run/curves.png",
        "next       edgewise sample DIR/run --prompt the",
    ]


def test_a_run_writes_to_standard_output_by_itself(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = edgewise.train("book.txt", size=SIZE, recipe=RECIPE, how=PLAIN)
    told = capsys.readouterr().out
    assert run.folder == Path("runs/book-1")
    assert "folder     runs/book-1\nstep 0/4  validation 3." in told
    assert told.endswith("next       edgewise sample runs/book-1 --prompt the\n")


def test_the_same_run_twice_is_the_same_run(book: Path, tmp_path: Path, told: Any) -> None:
    runs = [trained(book, tmp_path / name, told, how=PLAIN) for name in ("one", "two")]
    assert runs[0].progress.validation_loss == runs[1].progress.validation_loss
    different = trained(book, tmp_path / "three", told, recipe=Recipe(steps=4, batch=4, evaluate_every=2, seed=1))
    assert different.progress.validation_loss != runs[0].progress.validation_loss


def test_byte_pairs_are_learnt_from_the_text_or_taken_from_another_run(book: Path, tmp_path: Path, told: Any) -> None:
    run = trained(book, tmp_path / "pairs", told, tokens="pairs:280")
    assert run.about.size.vocabulary == 280
    assert "(byte pairs, 280 tokens)" in told.line("tokens")
    again = trained(book, tmp_path / "again", told, tokens=str(tmp_path / "pairs" / "tokenizer.json"))
    assert (again.about.tokens, again.about.size) == (run.about.tokens, run.about.size)
    assert again.load().tokenizer.decode([200, 201]) == run.load("last").tokenizer.decode([200, 201])


@pytest.mark.parametrize("rung", ["bigram", "scale", "batchnorm"])
def test_every_kind_of_rung_trains_and_loads(book: Path, tmp_path: Path, told: Any, rung: str) -> None:
    run = trained(book, tmp_path / "run", told, rung=rung)
    assert run.load().rung == rung
    assert told.line("model").startswith(f"{rung}: ")


def test_choices_are_made_by_a_trial_and_told_with_their_reason(book: Path, tmp_path: Path, told: Any) -> None:
    trained(book, tmp_path / "run", told, how=How())
    assert re.match(r"(float32|bfloat16): a trial step took [\d.]+ ms, in ", told.line("precision"))
    assert told.line("compiled").startswith("no: ")


def test_tensorboard_is_written_on_request(book: Path, tmp_path: Path, told: Any) -> None:
    pytest.importorskip("tensorboard")
    trained(book, tmp_path / "run", told, how=How(precision="float32", compiled="no", tensorboard=True))
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_mistakes_in_a_text_are_said_and_leave_nothing_behind(tmp_path: Path, told: Any) -> None:
    for content, kind, message in (
        ("", DataError, "wanted text; {} is empty"),
        (
            "aaaa" * 50,
            DataError,
            "wanted a text of several characters; it has one distinct character, so there is nothing to learn",
        ),
        (
            "abcdefg\n",
            DataError,
            "wanted at least block + 1 = 9 tokens for training; the text has 8 tokens, 7 of them for training; "
            "use a longer text, a smaller block or a smaller validation part",
        ),
        ("\ufeff", DataError, "wanted text; all of it is empty"),
    ):
        path = tmp_path / "text.txt"
        path.write_text(content)
        with pytest.raises(kind) as mistake:
            trained(path, tmp_path / "run", told)
        assert str(mistake.value) == message.format(path)
        assert [one.name for one in tmp_path.iterdir()] == ["text.txt"]


def test_mistakes_in_what_was_asked_for_are_said(book: Path, tmp_path: Path, told: Any) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").touch()
    for given, kind, message in (
        ({"rung": "gtp"}, ArgumentError, "no rung is called 'gtp' (did you mean 'gpt'?); the rungs are "),
        ({"rung": "cross"}, ArgumentError, "the rung cross reads tokens and memory; train takes a rung that reads one"),
        ({"size": "huge"}, ArgumentError, "no size is called 'huge'; the sizes are tiny, small, medium, large"),
        ({"tokens": "pairs:many"}, ArgumentError, 'wanted tokens to be "pairs" or "pairs:NUMBER"; got \'pairs:many\''),
        ({"tokens": "none.json"}, MissingError, 'wanted tokens to be "characters", "pairs" or a tokenizer.json; '),
        (
            {"out": tmp_path / "taken"},
            RunError,
            f"wanted a new folder for the run; {tmp_path / 'taken'} is there already",
        ),
        (
            {"validation": 2.0},
            ArgumentError,
            "wanted validation, the part of the text that is held out, between 0 and 1",
        ),
    ):
        with pytest.raises(EdgewiseError) as mistake:
            trained(book, tmp_path / "run", told, **given)
        assert isinstance(mistake.value, kind)
        assert str(mistake.value).startswith(message)
        assert not (tmp_path / "run").exists()
