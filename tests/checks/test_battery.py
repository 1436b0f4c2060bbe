"""Every sub-kind of fault is named, on the routes that have it and no other; what is right is never flagged."""

import sys
from pathlib import Path

import pytest
import torch

from edgewise import check

sys.path.insert(0, str(Path(__file__).parent))
from battery import CASES

pytestmark = pytest.mark.slow
FAULTS = [one for one in CASES.values() if one.property]


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("case", FAULTS, ids=lambda one: one.name)
def test_a_fault_is_named(case):
    report = check(case.build(False), **case.declared)
    told = {(one.cause.property, one.cause.kind) for one in report.findings}
    wanted = {(name, kind) for name in (case.property, *case.other) for kind in case.kinds}
    named = {name for name, _ in told}
    assert named & {case.property, *case.other}, (told, str(report))
    if case.property in named:
        assert told & wanted, (told, str(report))
    assert len(report.findings) == 1, str(report)
    if case.routes is not None:
        assert all(case.routes(str(route)) for one in report.findings for route in one.routes), str(report)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda one: one.name)
def test_what_is_right_is_not_flagged(case):
    report = check(case.build(True), **case.declared)
    assert not report.findings, str(report)
    assert not any(one.mistake for one in report.results), str(report)
