import importlib.util
import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("web_numbers", Path(__file__).with_name("web_numbers.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return one == pytest.approx(other, rel=1e-6, abs=1e-6)
    return one == other


def test_the_numbers_that_the_page_is_tested_with_are_those_of_records(made):
    held = json.loads(made.PATH.read_text())
    fresh = json.loads(made.text())
    assert held["bytes"] == fresh["bytes"]
    assert held["packed"] == fresh["packed"]
    assert close(fresh["expected"], held["expected"]), "run python tests/views/web_numbers.py"
