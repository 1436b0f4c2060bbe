"""Targets that behave badly: each is told of in one clear line, and never by a traceback of ours or a silent pass."""

import json
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from edgewise.checks import check
from edgewise.cli import main
from edgewise.errors import ArgumentError, EdgewiseError

sys.path.insert(0, str(Path(__file__).parent))  # the targets are also named on the command line
import odd_targets as odd

ONLY = ["future-leak", "lost-visibility", "batch-leak", "head-mapping", "path-mismatch"]

REFUSED: dict[Any, str] = {
    odd.Raises: "it raises ValueError: no kernel for this. Try: say what it reads",
    odd.Unprintable: "it raises Mute: no word",
    odd.GivesNothing: "it returns nothing for each token (NoneType for (3, 5, 16))",
    odd.GivesScalar: "it returns nothing for each token (() for (3, 5, 16))",
    odd.GivesSteps: "it returns nothing for each token (generator for (3, 5, 16))",
    odd.Shortens: "it returns nothing for each token ((3, 4, 16) for (3, 5, 16))",
    odd.Needs: "Try: say what flavour should be: arguments={'flavour': …}",
    odd.OutOfMemory: "it ran out of memory: no word",
    odd.OutOfTorchMemory: "it ran out of memory: [enforce fail at alloc_cpu.cpp:127]",
    odd.Exits: "it raises SystemExit: 3",
    odd.HookRaises: "it raises RuntimeError: the hook says no",
    odd.NoBatch: "it raises ValueError: wanted (tokens, channels)",
    odd.Endless: "it raises RecursionError: maximum recursion depth exceeded",
    odd.NoForward: "NoForward has no forward and no method that reads something: say which by method=",
    odd.NoArguments: "NoArguments takes no argument that it could read from",
}


@pytest.mark.parametrize("make", REFUSED, ids=lambda one: one.__name__)
def test_a_module_that_cannot_be_called_is_one_sentence(make: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        check(make())
    assert REFUSED[make] in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (odd.raises, "raises could not be called: 230 ways were tried; it raises ValueError: no."),
        (odd.nothing, "it returns nothing for each token (NoneType for (3, 4, 5, 8))"),
        (odd.fails, "making the target failed: fails() raised OSError: no such weights"),
        (odd.exits, "making the target failed: exits() raised SystemExit: bye"),
        (odd.number, "a target is a module, a function, a name or what makes one; got int"),
        (torch.zeros(3), "a target is a module, a function, a name or what makes one; got Tensor"),
        (odd.Right().to("meta"), "Right is on the meta device, which holds no numbers: give it weights first"),
    ],
    ids=lambda one: one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__),
)
def test_what_is_no_target_is_one_sentence(target: Any, says: str) -> None:
    with pytest.raises(EdgewiseError) as caught:
        check(target)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (odd.GivesNaN, "its answer to a plain input is not finite: it holds NaN or infinity"),
        (odd.GivesInfinity, "its answer to a plain input is not finite: it holds NaN or infinity"),
        (odd.Constant, "no token is read by another, and no attention was seen in it"),
        (nn.Identity, "no token is read by another, and no attention was seen in it"),
    ],
)
def test_where_nothing_can_be_told_nothing_passes(make: Any, why: str) -> None:
    report = check(make(), only=ONLY)
    assert (report.exit_status, report.verdict) == (2, f"nothing could be told: {why}")
    assert {one.status for one in report.results} == {"skip"}
    assert not report.findings


@pytest.mark.parametrize("make", [odd.Drifts, odd.Learns])
def test_what_is_other_each_time_has_one_fault_at_most_and_nothing_passes(make: Any) -> None:
    report = check(make())
    assert [(one.cause.property, one.cause.kind) for one in report.failures] == [("path-mismatch", "L2")]
    assert {one.status for one in report.results} == {"skip", "fail"}
    why = "it answers the same input otherwise each time, though all random numbers were held still"
    assert report.result("future-leak").why == why
    assert check(make(), only=["future-leak"]).verdict == f"nothing could be told: {why}"


def test_random_numbers_in_evaluation_are_told_as_such() -> None:
    report = check(odd.Draws(), only=["future-leak", "path-mismatch"])
    assert [(one.cause.property, one.cause.kind) for one in report.failures] == [("path-mismatch", "L4")]
    assert report.result("future-leak").status == "pass"
    assert "draws random numbers in evaluation mode" in report.subject


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (odd.RaisesForOne, "note: not looked at: batch of one, where it raises ValueError: a batch of one is not"),
        (odd.ExitsForOne, "note: not looked at: batch of one, where it raises SystemExit: 3"),
        (odd.RaisesForWeights, "nothing is given to weights: every form that was tried fails"),
        (odd.Mutates, "writes into what it is given: x"),
    ],
)
def test_what_was_not_looked_at_is_told(make: Any, says: str) -> None:
    report = check(make(), only=["future-leak", "batch-leak", "path-mismatch"])
    assert report.exit_status == 0
    assert says in str(report)


def test_a_route_that_gives_nan_is_a_fault_of_that_route() -> None:
    (fault,) = check(odd.NaNForOne()).failures
    assert {one.batch for one in fault.routes} == {1}


def test_a_target_without_gradients_is_no_mistake_of_ours() -> None:
    report = check(odd.Mutates(), only=["normalisation", "head-mapping", "path-mismatch"])
    assert (report.mistakes, report.findings) == ((), ())


@pytest.mark.parametrize(
    "make", [odd.GivesTuple, odd.GivesDict, odd.Weightless, odd.Warns, odd.Hooked, odd.Prints, odd.Meddles]
)
def test_what_is_odd_and_right_holds(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    report = check(make(), only=ONLY, graph="causal()")
    assert (report.exit_status, report.mistakes) == (0, ())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda one: torch.compile(one, backend="eager")])
def test_what_is_in_a_wrapper_is_looked_at_and_that_is_told(wrap: Any) -> None:
    report = check(wrap(odd.Right()), only=["future-leak"], graph="causal()")
    assert report.exit_status == 0
    assert "is left out: the module in it is called as it is" in report.subject


def test_what_belongs_to_everybody_is_as_it_was() -> None:
    def state() -> tuple[Any, ...]:
        numbers = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
        settings = (torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled())
        return *numbers, *settings, torch.are_deterministic_algorithms_enabled(), len(warnings.filters)

    target, before = odd.Meddles(), state()
    check(target, only=["future-leak", "path-mismatch"], graph="window(2)")  # with a finding, to be shrunk and replayed
    assert state() == before


def test_a_call_that_takes_very_long_is_cut_off_and_nothing_passes() -> None:
    report = check(odd.Sleeps(), budget=0.5)
    assert report.seconds < 5
    assert {one.status for one in report.results} == {"skip"}
    assert report.exit_status == 2
    assert report.notes == ("one call takes long: 0.5 s were not enough; give a larger budget",)


def test_where_time_runs_out_on_the_way_the_report_is_partial_and_says_so() -> None:
    report = check(odd.Slow(), budget=3.0)
    assert report.notes == ("time ran out after 3 s: what was not reached is skipped",)
    assert "skip" in {one.status for one in report.results}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "empty.py": "",
        "broken.py": "def build(:\n",
        "leaving.py": "import sys\nsys.exit(4)\n",
        "failing.py": "raise RuntimeError('at import')\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("empty.py:build", "wanted build of empty.py:build; there is none"),
        ("empty.py", "wanted file.py:attr, the name of what is in the file too; got 'empty.py'"),
        ("broken.py:build", "broken.py:1: SyntaxError: invalid syntax"),
        ("leaving.py:build", "leaving.py:2: SystemExit: 4"),
        ("failing.py:build", "failing.py:1: RuntimeError: at import"),
        ("nowhere.py:build", "wanted a file of code; there is no file nowhere.py"),
        ("no_such_module:build", "wanted the module no_such_module; there is no module no_such_module here"),
        ("odd_targets:exits", "SystemExit: bye"),
        ("odd_targets:fails", "OSError: no such weights"),
        ("odd_targets:number", "odd_targets:number is a int"),
        ("odd_targets:Raises", "it raises ValueError: no kernel for this"),
        ("odd_targets:Exits", "it raises SystemExit: 3"),
    ],
)
def test_on_the_command_line_it_is_one_sentence_and_exit_2(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    assert main(["check", name]) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert told.err.startswith("edgewise: ")
    assert len(told.err.splitlines()) == 1
    assert told.out == ""


def test_what_a_target_prints_is_no_part_of_the_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "loud_targets.py").write_text("print('hello')\nfrom odd_targets import Prints\n", encoding="utf-8")
    assert main(["check", "loud_targets.py:Prints", "--json", "--only", "future-leak"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "loud_targets.py:Prints"


def test_the_command_tells_of_what_could_not_be_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "odd_targets:GivesNaN", "--only", "future-leak"]) == 2
    assert "nothing could be told: its answer to a plain input is not finite" in capsys.readouterr().out
    assert main(["check", "odd_targets:Sleeps", "--budget", "0.5"]) == 2
    told = capsys.readouterr().out
    assert "time ran out before it was known how the target is called" in told
    assert "nothing could be told" in told
