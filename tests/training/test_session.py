"""What cuts a run off from outside is told in a sentence, with the way on."""

import errno
import fcntl
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from edgewise.errors import RunError
from edgewise.training import Run, RunFolder, resume
from edgewise.training.checkpoint import read, write_atomically
from edgewise.training.distributed import PeerGoneError


@pytest.fixture
def run(tiny_run: Run, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_run.folder, tmp_path / "run"))


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException, times: int = 1) -> None:
    """Make the next steps fail."""
    from edgewise.training.step import Step

    true, left = Step.__call__, [error] * times

    def call(self: Step, *arguments: Any) -> Any:
        if left:
            raise left.pop()
        return true(self, *arguments)

    monkeypatch.setattr(Step, "__call__", call)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "the run folder {0} cannot be written (No space left on device); resume with: edgewise train --resume {0}",
        ),
        (
            OSError("I/O error: full"),
            "the run folder {0} cannot be written (I/O error: full); resume with: edgewise train --resume {0}",
        ),
        (
            PeerGoneError("another process of this run has gone, so process 0 stops too"),
            "another process of this run has gone, so process 0 stops too; resume with: edgewise train --resume {0}",
        ),
        (
            torch.OutOfMemoryError("CUDA out of memory"),
            "the device has too little memory for a step; "
            "try a smaller --batch with more --accumulate, or a smaller --size",
        ),
    ],
)
def test_trouble_from_outside_is_one_sentence(
    run: Path, told: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    failing(monkeypatch, error)
    with pytest.raises(RunError) as mistake:
        resume(run, steps=25, watch=told)
    assert str(mistake.value) == message.format(run)
    assert resume(run, watch=told).progress.step == 25


def test_an_interrupt_tells_the_way_on(run: Path, told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        resume(run, steps=25, watch=told)
    assert told.lines[-1] == f"resume     edgewise train --resume {run}"


def test_a_run_is_trained_by_one_process_at_a_time(run: Path, told: Any) -> None:
    with (run / "tokens.bin").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(RunError) as mistake:
            resume(run, steps=25, watch=told)
    assert str(mistake.value) == f"another process is training {run}; wait for its end, or stop it first"


def compiled(run: Path) -> None:
    about = replace(RunFolder(run).about(), compiled=True)
    write_atomically(run / "run.json", about.to_json())


class InvalidCompilerError(RuntimeError):
    __module__ = "torch._inductor.exc"


def test_a_compiler_that_does_not_work_is_done_without_and_that_is_said(
    run: Path, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(run)
    failing(monkeypatch, InvalidCompilerError("no working compiler\nmore of it"))
    monkeypatch.setattr("edgewise.training.step.compiled_gradient", lambda loss_at: None)
    finished = resume(run, steps=25, watch=told)
    assert told.line("compiling") == "the first step takes half a minute or so"
    assert told.line("compiled") == "no after all, compiling failed (no working compiler)"
    assert finished.progress.step == 25
    assert not RunFolder(run).about().compiled


def test_another_failure_of_a_step_is_not_taken_for_the_compilers(
    run: Path, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(run)
    failing(monkeypatch, RuntimeError("a bug of ours"))
    with pytest.raises(RuntimeError, match="a bug of ours"):
        resume(run, steps=25, watch=told)


COMPILED = """
import signal, sys
from edgewise.ladder import Size
from edgewise.training import How, Recipe, Stepped, Watcher, resume, train

class Interrupt(Watcher):
    def stepped(self, stepped: Stepped) -> None:
        if stepped.step == 3:
            signal.raise_signal(signal.SIGINT)

given = {
    "size": Size(vocabulary=1, block=8, width=16, heads=2, layers=1),
    "recipe": Recipe(steps=6, batch=4, evaluate_every=4),
    "how": How(precision="bfloat16", compiled="yes"),
}
train(sys.argv[1], **given, out="whole")
try:
    train(sys.argv[1], **given, out="part", watch=Interrupt())
except KeyboardInterrupt:
    assert resume("part").about.compiled
"""


@pytest.mark.slow
def test_a_compiled_run_is_resumed_with_the_same_bits(book: Path, tmp_path: Path) -> None:
    # In a process of its own: the compiler cannot look through the checks of shapes that tests put around every call.
    if not shutil.which("g++") and not shutil.which("clang++"):
        pytest.skip("needs a C++ compiler")
    done = subprocess.run([sys.executable, "-c", COMPILED, book], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "resumed    part after step 3\n" in done.stdout
    first, second = (read(tmp_path / name / "last.safetensors") for name in ("whole", "part"))
    for name in first.model:
        torch.testing.assert_close(second.model[name], first.model[name], rtol=0, atol=0)
