"""The twelve public cases: what is wrong is told by one finding that names its cause, what is right is clean."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from edgewise.checks import Report, check

_SPEC = importlib.util.spec_from_file_location("public_targets", Path(__file__).with_name("public_targets.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
public_targets = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = public_targets
_SPEC.loader.exec_module(public_targets)
TARGETS: dict[str, Any] = public_targets.TARGETS


def checked(case: Any, *, right: bool) -> Report:
    torch.manual_seed(0)
    return check(case.make(right), **case.declared)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_that_is_wrong_is_told_by_one_finding_that_names_the_cause(name: str) -> None:
    case = TARGETS[name]
    report = checked(case, right=False)
    assert report.exit_status == 1
    (fault,) = report.failures
    assert (fault.cause.property, fault.cause.kind) == (case.offence, case.kinds)
    assert all(case.on in str(route) for route in fault.routes)
    assert not case.on or all(case.on not in str(route) for route in fault.clean)
    assert case.likely in fault.cause.likely
    assert report.result(case.offence).status == "fail"
    shows(fault.cause.replay, case)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_that_is_right_is_clean(name: str) -> None:
    report = checked(TARGETS[name], right=True)
    assert report.failures == ()
    assert report.exit_status == 0
    assert [one.name for one in report.results if one.status == "fail" or one.mistake] == []


def shows(replay: str, case: Any) -> None:
    """A replay fails on the target that is wrong and passes on the right one, each made anew."""
    torch.manual_seed(1)
    run(replay, case.make(True))
    with pytest.raises(AssertionError):
        run(replay, case.make(False))


def run(replay: str, model: Any) -> None:
    exec(compile(replay, "<replay>", "exec"), {"model": model})
