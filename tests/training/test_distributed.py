"""Two real processes train one model: the same curve, one writer, and an end that all of them see."""

import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from edgewise.errors import DataError, RunError
from edgewise.training import load
from edgewise.training.distributed import PeerGoneError, World, join
from edgewise.training.metrics import read_metrics

Start = Callable[..., subprocess.Popen[str]]
TINY = ("--layers", "1", "--heads", "2", "--width", "16", "--block", "8", "--batch", "4")
PLAIN = ("--precision", "float32", "--compiled", "no")


def numbers(run: Path, name: str) -> list[float]:
    return [row[name] for row in read_metrics(run / "metrics.jsonl") if name in row]


def test_one_process_alone_is_a_world_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    with join("cpu") as world:
        assert (world.rank, world.size, world.first, str(world.device)) == (0, 1, True, "cpu")
        tensor = torch.ones(3)
        world.mean_([tensor])
        assert tensor.tolist() == [1, 1, 1]
        assert world.any(True)
        assert not world.any(False)
        assert world.share(lambda: 5) == 5


def test_a_mistake_that_all_find_is_said_by_the_first_alone() -> None:
    with pytest.raises(DataError, match=r"^bad text$"):
        World(0, 2).refuse(DataError("bad text"))
    with pytest.raises(SystemExit) as quiet:
        World(1, 2).refuse(DataError("bad text"))
    assert quiet.value.code == 2


def test_a_process_that_has_gone_is_a_mistake_with_a_name() -> None:
    def broken(_: Any) -> None:
        raise RuntimeError("Connection closed by peer")

    with pytest.raises(PeerGoneError) as mistake:
        World(1, 2)._exchange(broken, None)
    assert str(mistake.value) == "another process of this run has gone, so process 1 stops too"


def test_others_that_cannot_be_reached_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "none")):
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(RunError, match=f"^process 1 of 2 on {socket.gethostname()} cannot reach the others: "),
        join("cpu"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    # Muon rounds to bfloat16 on its way: where a sum in another order flips one of those bits, the curves part.
    ("optimiser", "rounding"),
    [("adamw", 1e-4), ("muon", 3e-2)],
)
def test_two_processes_give_the_curve_of_one(
    start: Start, book: Path, tmp_path: Path, optimiser: str, rounding: float
) -> None:
    recipe = (*TINY, *PLAIN, "--steps", "40", "--evaluate-every", "20", "--accumulate", "2", "--optimiser", optimiser)
    two = start(
        "--nproc-per-node=2",
        "--master-port=0",
        "-m",
        "edgewise",
        "train",
        book,
        *recipe,
        "--out",
        "two",
        module=("torch.distributed.run", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"),
    )
    one = start("train", book, *recipe, "--out", "one")
    assert one.wait() == 0, one.communicate()
    told, wrong = two.communicate()
    assert two.returncode == 0, wrong
    assert told.count("done  ") == 1
    for name in ("loss", "validation_loss"):
        here, there = numbers(tmp_path / "one", name), numbers(tmp_path / "two", name)
        assert len(here) == (3 if name == "validation_loss" else 40)
        torch.testing.assert_close(torch.tensor(there), torch.tensor(here), rtol=0, atol=rounding)
    assert load(tmp_path / "two").validation_loss == min(numbers(tmp_path / "two", "validation_loss"))


@pytest.mark.slow
def test_when_a_process_is_killed_the_other_stops_says_how_to_resume_and_the_run_resumes(
    start: Start, book: Path, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = ("train", book, *TINY, *PLAIN, "--steps", "100000", "--evaluate-every", "20", "--out", "run")
    first, second = (start(*command, RANK=str(rank), LOCAL_RANK=str(rank), **shared) for rank in range(2))
    while first.poll() is None and len(numbers(tmp_path / "run", "validation_loss")) < 3:
        time.sleep(0.02)
    second.send_signal(signal.SIGKILL)
    _, wrong = first.communicate(timeout=60)
    assert first.returncode == 2
    assert wrong == (
        "edgewise: another process of this run has gone, so process 0 stops too; "
        "resume with: edgewise train --resume run\n"
    )
    assert second.communicate() == ("", "")
    done = numbers(tmp_path / "run", "validation_loss")
    resumed = start("train", "--resume", "run", "--steps", str(20 * len(done) + 20))
    told, wrong = resumed.communicate()
    assert resumed.returncode == 0, wrong
    assert "resumed    run after step " in told
    again = numbers(tmp_path / "run", "validation_loss")
    torch.testing.assert_close(torch.tensor(again[: len(done) - 1]), torch.tensor(done[:-1]), rtol=0, atol=0)


@pytest.mark.slow
def test_a_mistake_is_said_once_and_ends_all_processes(start: Start) -> None:
    both = start(
        "--nproc-per-node=2",
        "-m",
        "edgewise",
        "train",
        "none.txt",
        *PLAIN,
        module=("torch.distributed.run", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"),
    )
    _, wrong = both.communicate(timeout=120)
    assert both.returncode != 0
    assert wrong.count("edgewise: wanted text; there is no file or folder none.txt\n") == 1
