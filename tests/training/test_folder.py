import json
import shutil
from pathlib import Path

import pytest
import torch

from edgewise.errors import MissingError, RunError
from edgewise.training import Run, RunFolder, load, slim
from edgewise.training.folder import new_folder


@pytest.fixture
def run(tiny_run: Run, tmp_path: Path) -> Path:
    """A copy of the run, to be damaged."""
    return Path(shutil.copytree(tiny_run.folder, tmp_path / "run"))


def test_a_run_folder_holds_what_it_says(tiny_run: Run) -> None:
    assert sorted(path.name for path in tiny_run.folder.iterdir()) == [
        "best.safetensors",
        "curves.png",
        "curves.svg",
        "last.safetensors",
        "metrics.jsonl",
        "run.json",
        "tokenizer.json",
        "tokens.bin",
    ]


def test_a_loaded_model_computes_the_validation_loss_of_its_checkpoint(tiny_run: Run) -> None:
    from edgewise.training import Corpus, windows

    loaded = load(tiny_run.folder)
    about = tiny_run.about
    corpus = Corpus.open(tiny_run.folder / "tokens.bin", about.held_out, about.token_kind)
    starts = corpus.validation_starts(about.recipe.evaluate_windows, about.size.block)
    tokens, targets = windows(corpus.validation, starts, about.size.block)
    with torch.no_grad():
        logits = loaded.model(tokens)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    assert loaded.validation_loss == pytest.approx(loss, rel=1e-5)
    assert (loaded.rung, loaded.size, loaded.step, loaded.note) == ("gpt", about.size, 20, "")
    assert not loaded.model.training


def test_a_slim_run_has_weights_only_and_loads_the_same(tiny_run: Run, tmp_path: Path) -> None:
    slim(tiny_run.folder, tmp_path / "slim")
    assert sorted(path.name for path in (tmp_path / "slim").iterdir()) == [
        "best.safetensors",
        "run.json",
        "tokenizer.json",
    ]
    for one, other in zip(
        load(tmp_path / "slim").model.parameters(), load(tiny_run.folder).model.parameters(), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_damaged_best_checkpoint_falls_back_to_the_last_and_says_so(run: Path) -> None:
    (run / "best.safetensors").write_bytes(b"\0" * 100)
    note = load(run).note
    assert note.startswith(f"the checkpoint {run / 'best.safetensors'} is damaged or cut off (")
    assert note.endswith("); the last one (step 20) is used")


def test_a_missing_last_checkpoint_falls_back_to_the_best_and_says_so(run: Path) -> None:
    (run / "last.safetensors").unlink()
    assert load(run, "last").note == "there is no last checkpoint; the best one (step 20) is used"


def test_two_damaged_checkpoints_are_a_mistake(run: Path) -> None:
    for name in ("best", "last"):
        (run / f"{name}.safetensors").write_bytes(b"")
    with pytest.raises(RunError) as mistake:
        load(run)
    assert str(mistake.value).startswith(f"no checkpoint of {run} can be read: the checkpoint ")


def test_a_run_without_a_checkpoint_says_how_to_get_one(run: Path) -> None:
    for name in ("best", "last"):
        (run / f"{name}.safetensors").unlink()
    with pytest.raises(MissingError) as mistake:
        load(run)
    assert str(mistake.value) == (f"wanted a checkpoint; {run} has none yet; run edgewise train --resume {run}")
    with pytest.raises(MissingError, match=r"^wanted a checkpoint; .* has none yet$"):
        slim(run, run / "slim")


def test_a_run_of_a_newer_version_is_refused(run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "format": 9, "edgewise": "4.0", "size": "of tomorrow"}))
    with pytest.raises(RunError) as mistake:
        RunFolder(run).about()
    assert str(mistake.value) == (
        f"{run} was written by edgewise 4.0 in format 9; this version reads up to format 1; install a newer edgewise"
    )


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"format": 1, "edgewise": "0.1.0"}'])
def test_a_damaged_run_json_is_named(run: Path, content: str) -> None:
    (run / "run.json").write_text(content)
    with pytest.raises(RunError) as mistake:
        load(run)
    assert str(mistake.value).startswith(f"{run / 'run.json'} is damaged (")


def test_what_is_no_run_folder_is_named(tmp_path: Path, run: Path) -> None:
    for path, wrong in (
        (tmp_path / "none", "does not exist"),
        (tmp_path, "holds no run.json, so it is not a run folder"),
    ):
        with pytest.raises(MissingError) as mistake:
            load(path)
        assert str(mistake.value) == f"wanted a run folder, as edgewise train makes it; {path} {wrong}"
    (run / "tokenizer.json").unlink()
    with pytest.raises(MissingError) as missing:
        load(run)
    assert str(missing.value) == f"wanted the tokenizer of the run; there is no file {run / 'tokenizer.json'}"


def test_a_checkpoint_of_another_size_is_a_mistake(run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    about["size"]["width"] = 32
    (run / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match=f"^the checkpoint of {run} does not fit the rung gpt \\(size mismatch for "):
        load(run)


def test_runs_of_one_text_are_numbered(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with new_folder(None, "book", tmp_path) as (filling, final):
            (filling / "run.json").write_text("{}")
            assert not final.exists()
        assert final == tmp_path / f"book-{number}"
    shutil.rmtree(tmp_path / "book-1")
    with new_folder(None, "book", tmp_path) as (_, final):
        assert final == tmp_path / "book-4"


def test_a_folder_that_fails_to_fill_is_not_there_afterwards(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "run", "book") as (filling, _):
            (filling / "tokens.bin").write_bytes(b"half")
            raise ValueError("no text")

    with pytest.raises(ValueError, match="no text"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_filled_and_a_taken_one_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty", "book") as (filling, _):
        (filling / "run.json").write_text("{}")
    assert (tmp_path / "empty" / "run.json").read_text() == "{}"
    with pytest.raises(RunError) as taken, new_folder(tmp_path / "empty", "book"):
        pass
    assert str(taken.value) == (
        f"wanted a new folder for the run; {tmp_path / 'empty'} is there already; "
        f"go on with it by --resume {tmp_path / 'empty'}, or choose another --out"
    )
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"is there already; choose another --out$"), new_folder(tmp_path / "file", "b"):
        pass
    with pytest.raises(RunError) as inside, new_folder(tmp_path / "file" / "run", "book"):
        pass
    assert str(inside.value) == (
        f"wanted a new folder for the run; {tmp_path / 'file' / 'run'} cannot be made (Not a directory)"
    )
