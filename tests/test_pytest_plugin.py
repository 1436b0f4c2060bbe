"""The pytest plugin, as a project that uses it runs pytest."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

LAYERS = """
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal, self.project = causal, nn.Linear(16, 48).double()

    def forward(self, x):
        parts = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(*parts, is_causal=self.causal).transpose(1, 2).flatten(2)


def right():
    return Layer(True)


def wrong():
    return Layer(False)
"""
TESTS = """
import edgewise
from layers_tested import right, wrong


def test_right(edgewise_check):
    assert edgewise_check(right, graph="causal()", only=["future-leak"]).exit_status == 0


def test_wrong(edgewise_check):
    edgewise_check(wrong, graph="causal()", only=["future-leak"])
"""
CAUSAL = ("--edgewise-graph", "causal()")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "layers_tested.py").write_text(LAYERS, encoding="utf-8")
    (tmp_path / "test_layers.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def told(project: Path, *arguments: str) -> str:
    """What pytest prints in a project; the plugin is named where this environment was made before it was there."""
    known = any(one.value == "edgewise.pytest_plugin" for one in entry_points(group="pytest11"))
    plugin = () if known else ("-p", "edgewise.pytest_plugin")
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", *plugin, *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_a_target_has_a_test_for_each_property_and_the_one_at_fault_fails(project: Path) -> None:
    out = told(project, "-rA", "--edgewise", "layers_tested.py:wrong", *CAUSAL, "--ignore=test_layers.py")
    assert "FAILED edgewise::layers_tested.py:wrong::future-leak" in out
    assert "PASSED edgewise::layers_tested.py:wrong::scale" in out
    assert "1 failed" in out
    assert "likely    no mask is applied here" in out
    assert "Traceback" not in out


def test_what_is_right_passes_and_what_cannot_be_told_is_skipped(project: Path) -> None:
    out = told(project, "-rs", "--edgewise", "layers_tested.py:right", *CAUSAL, "--ignore=test_layers.py")
    assert "failed" not in out
    assert "it takes neither positions nor documents" in out


def test_what_is_allowed_is_an_expected_failure_and_tests_are_chosen_as_usual(project: Path) -> None:
    allow = ("--edgewise-allow", "future-leak=see #12")
    out = told(
        project,
        "-rx",
        "-k",
        "future or scale",
        "--edgewise",
        "layers_tested.py:wrong",
        *CAUSAL,
        *allow,
        "test_layers.py",
    )
    assert "XFAIL edgewise::layers_tested.py:wrong::future-leak" in out
    assert "allowed: see #12" in out
    assert "1 passed" in out
    assert "1 xfailed" in out


def test_the_fixture_checks_as_the_function_does_and_fails_the_test(project: Path) -> None:
    out = told(project, "test_layers.py")
    assert "1 failed, 1 passed" in out
    assert "CheckFailure" in out


@pytest.mark.slow
def test_it_works_in_several_processes(project: Path) -> None:
    pytest.importorskip("xdist")
    out = told(project, "-n", "2", "--dist", "loadgroup", "--edgewise", "layers_tested.py:wrong", *CAUSAL, "-q")
    assert "FAILED edgewise::layers_tested.py:wrong::future-leak" in out
    assert "FAILED test_layers.py::test_wrong" in out
    assert "2 failed" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--edgewise-allow", "scale"), "--edgewise-allow wants PROPERTY=REASON, with a reason; got 'scale'"),
        (("--edgewise-baseline", "none.json"), "--edgewise-baseline: wanted a baseline; there is no file none.json"),
    ],
)
def test_a_mistake_in_an_option_is_told_before_anything_runs(
    project: Path, arguments: tuple[str, ...], says: str
) -> None:
    out = told(project, "--edgewise", "layers_tested.py:right", *arguments)
    assert f"ERROR: {says}" in out


def test_a_name_that_leads_nowhere_is_told_in_a_sentence(project: Path) -> None:
    out = told(project, "-k", "scale", "--edgewise", "layers_tested.py:none", "--ignore=test_layers.py")
    assert "wanted none of layers_tested.py:none; there is none" in out
    assert "Traceback" not in out


def test_loading_the_plugin_loads_no_torch() -> None:
    code = "import edgewise.pytest_plugin, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
