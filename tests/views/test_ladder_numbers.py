import importlib.util
import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("ladder_numbers", Path(__file__).with_name("ladder_numbers.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return one == pytest.approx(other, rel=1e-5, abs=1e-5)
    return one == other


def test_the_numbers_that_the_ladder_pages_are_tested_with_are_the_derivations(made):
    held = json.loads(made.PATH.read_text(encoding="utf-8"))
    assert close(json.loads(made.text()), held), "run python tests/views/ladder_numbers.py"
