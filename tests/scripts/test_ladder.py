import importlib.util
import json
import re
from pathlib import Path

import pytest

from edgewise.derivation import Reading
from edgewise.ladder import RUNGS

ROOT = Path(__file__).parents[2]
TEXT = ROOT.parent / "shared" / "data" / "tinyshakespeare.txt"
NUMBER = re.compile(r"−?\d[\d,]*\.?\d*(?:e[−+-]?\d+)?")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("ladder_script", ROOT / "scripts" / "ladder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def held(script):
    return json.loads(script.PATH.read_text(encoding="utf-8"))


def alike(one, other):
    """The same sentences with the same numbers, but for the last digits of another machine."""
    if NUMBER.sub("0", one) != NUMBER.sub("0", other):
        return False
    found = (
        [float(re.sub("[−]", "-", number.replace(",", ""))) for number in NUMBER.findall(it)] for it in (one, other)
    )
    return all(a == pytest.approx(b, rel=0.02, abs=2e-3) for a, b in zip(*found, strict=True))


def test_what_the_pages_show_is_what_the_ladder_is(script, held):
    # Without tinyshakespeare what is told of a text is told of another; all that stands in the code is the same.
    reading = Reading("prose", "the text is a sentence", "you thought through the house, thou knowest. " * 60)
    lessons = {one["name"]: one["lesson"] for one in held["rungs"]}
    fresh = json.loads(json.dumps(script.pages(reading, lessons, held["cheating"])))
    assert fresh["texts"] == held["texts"], "run scripts/ladder"
    assert fresh["worked"] == held["worked"]
    for one, other in zip(fresh["rungs"], held["rungs"], strict=True):
        for name in one.keys() - {"numbers", "buys"}:
            assert one[name] == other[name], f"{one['name']}: run scripts/ladder"


@pytest.mark.skipif(not TEXT.is_file(), reason="tinyshakespeare is not beside the checkout")
def test_the_numbers_that_the_pages_show_are_those_that_derive_prints(script, held):
    fresh = script.pages(Reading.find([TEXT]), {}, {})
    assert fresh["text"] == held["text"]
    for one, other in zip(fresh["rungs"], held["rungs"], strict=True):
        assert alike(one["numbers"], other["numbers"]), f"{one['name']}: run scripts/ladder"
        assert alike(one["buys"], other["buys"])


def test_every_rung_that_can_be_was_trained_and_its_curve_ends_where_it_does(held):
    assert [one["name"] for one in held["rungs"]] == [one.name for one in RUNGS]
    for one in held["rungs"]:
        if one["name"] == "cross":
            assert one["lesson"] is None
            continue
        lesson = one["lesson"]
        assert lesson["curve"][-1][0] == lesson["held"][-1][0] == lesson["steps"]
        assert lesson["held"][0][0] == 0
