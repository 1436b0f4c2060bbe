"""A run that is cut off, by SIGKILL at any moment or by Ctrl-C, and resumed ends with the bits of one that was not."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from edgewise.errors import ArgumentError, MissingError, RunError
from edgewise.training import Run, RunFolder, resume
from edgewise.training.checkpoint import read
from edgewise.training.metrics import read_metrics

Start = Callable[..., subprocess.Popen[str]]
STEPS = 400
TINY = ("--layers", "1", "--heads", "2", "--width", "16", "--block", "8", "--batch", "4", "--dropout", "0.1")
LONG = (*TINY, "--steps", str(STEPS), "--evaluate-every", "50", "--precision", "float32", "--compiled", "no")
OFTEN = ("--save-seconds", "0.01")


def losses(run: Path) -> list[tuple[int, Any, Any]]:
    return [(row["step"], row.get("loss"), row.get("validation_loss")) for row in read_metrics(run / "metrics.jsonl")]


def assert_same_run(one: Path, other: Path) -> None:
    for name in ("last", "best"):
        first, second = read(one / f"{name}.safetensors"), read(other / f"{name}.safetensors")
        assert first.progress.step == second.progress.step
        assert first.progress.best_loss == second.progress.best_loss
        for part, same in ((first.model, second.model), (first.step, second.step)):
            assert set(part) == set(same)
            for key in part:
                torch.testing.assert_close(same[key], part[key], rtol=0, atol=0)
    assert losses(one) == losses(other)


def wait_for_step(run: Path, step: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and not any(row["step"] >= step for row in read_metrics(run / "metrics.jsonl")):
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, book_text: str) -> Path:
    """The run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "book.txt").write_text(book_text)
    command = [sys.executable, "-m", "edgewise", "train", "book.txt", *LONG, "--out", "run"]
    subprocess.run(command, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True, capture_output=True)
    return folder / "run"


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(
    start: Start, book: Path, whole: Path, tmp_path: Path
) -> None:
    moments = random.Random(0)
    process = start("train", book, *LONG, *OFTEN, "--out", "killed")
    steps: list[int] = []
    for _ in range(4):
        # Each process gets a little further than the checkpoint it began from, and is killed in the middle of
        # whatever it is doing: a step, a line of metrics, a checkpoint half written.
        before = max((row["step"] for row in read_metrics(tmp_path / "killed" / "metrics.jsonl")), default=0)
        wait_for_step(tmp_path / "killed", before + 1, process)
        time.sleep(moments.uniform(0, 0.2))
        process.kill()
        assert process.wait() == -signal.SIGKILL, process.communicate()
        last = tmp_path / "killed" / "last.safetensors"
        steps.append(read(last).progress.step if last.exists() else 0)
        process = start("train", "--resume", "killed", *OFTEN)
    told, wrong = process.communicate()
    assert process.returncode == 0, wrong
    assert f"resumed    killed after step {steps[-1]}" in told
    assert steps == sorted(steps)
    assert 0 < steps[-1] < STEPS
    assert_same_run(whole, tmp_path / "killed")
    assert not list((tmp_path / "killed").glob(".*"))


@pytest.mark.slow
def test_ctrl_c_saves_says_how_to_resume_and_exits_130(start: Start, book: Path, whole: Path, tmp_path: Path) -> None:
    process = start("train", book, *LONG, "--out", "run")
    wait_for_step(tmp_path / "run", 60, process)
    process.send_signal(signal.SIGINT)
    told, wrong = process.communicate()
    assert process.returncode == 130, wrong
    step = read(tmp_path / "run" / "last.safetensors").progress.step
    assert step >= 60
    assert told.endswith(f"stopped after step {step}, all of it saved\nresume     edgewise train --resume run\n")
    assert wrong == (
        "\nstopping after this step; once more stops at once and loses what is not saved\nedgewise: stopped\n"
    )
    assert start("train", "--resume", "run").wait() == 0
    assert_same_run(whole, tmp_path / "run")


@pytest.fixture
def run(tiny_run: Run, tmp_path: Path) -> Path:
    """A copy of the run, to be changed."""
    return Path(shutil.copytree(tiny_run.folder, tmp_path / "run"))


def test_a_run_killed_before_its_first_checkpoint_begins_again(run: Path, tiny_run: Run, told: Any) -> None:
    for name in ("best.safetensors", "last.safetensors"):
        (run / name).unlink()
    resume(run, watch=told)
    assert not any(line.startswith("resumed") for line in told.lines)
    assert_same_run(run, tiny_run.folder)


def test_a_damaged_last_checkpoint_falls_back_to_the_best_and_ends_the_same(
    run: Path, tiny_run: Run, told: Any
) -> None:
    shutil.copyfile(run / "last.safetensors", run / "best.safetensors")
    (run / "last.safetensors").write_bytes((run / "last.safetensors").read_bytes()[:-1])
    resume(run, watch=told)
    assert told.line("note").endswith("; the best one (step 20) is used")
    assert told.line("finished") == "all 20 steps are done; more with --steps"


def test_a_finished_run_can_be_taken_further(run: Path, told: Any) -> None:
    longer = resume(run, steps=30, watch=told)
    assert told.line("resumed") == f"{run} after step 20"
    assert longer.progress.step == 30
    assert RunFolder(run).about().recipe.steps == 30
    assert [step for step, loss, _ in losses(run) if loss is not None] == list(range(1, 31))


def test_a_run_of_weights_alone_cannot_be_resumed(tiny_run: Run, tmp_path: Path, told: Any) -> None:
    from edgewise.training import slim

    slim(tiny_run.folder, tmp_path / "slim")
    with pytest.raises(MissingError) as tokens:
        resume(tmp_path / "slim", watch=told)
    assert str(tokens.value) == (
        f"wanted the tokens of the run; there is no file {tmp_path / 'slim' / 'tokens.bin'}; "
        "all processes must see the run folder"
    )
    shutil.copyfile(tiny_run.folder / "tokens.bin", tmp_path / "slim" / "tokens.bin")
    with pytest.raises(RunError) as weights:
        resume(tmp_path / "slim", watch=told)
    assert str(weights.value) == (
        f"{tmp_path / 'slim'} holds weights only, without the optimiser's state: sample it, it cannot be resumed"
    )


def test_damaged_tokens_are_named(run: Path, told: Any) -> None:
    (run / "tokens.bin").write_bytes((run / "tokens.bin").read_bytes()[:100])
    tokens = RunFolder(run).about().tokens
    with pytest.raises(RunError) as mistake:
        resume(run, watch=told)
    assert str(mistake.value) == f"{run / 'tokens.bin'} is damaged: it holds 50 tokens, and run.json says {tokens}"


def test_fewer_steps_than_are_done_are_a_mistake(run: Path, told: Any) -> None:
    with pytest.raises(ArgumentError) as mistake:
        resume(run, steps=10, watch=told)
    assert str(mistake.value) == f"steps must be more than the 20 that {run} has done already; got 10"
    assert RunFolder(run).about().recipe.steps == 20
