import datetime
import json
import re

import pytest

from edgewise.samples import shipped
from edgewise.training import load, sample

PROVENANCE = json.loads((shipped() / "provenance.json").read_text(encoding="utf-8"))


def test_the_run_that_edgewise_carries_is_small():
    assert sum(path.stat().st_size for path in shipped().iterdir()) <= 2_000_000


def test_its_provenance_says_how_it_was_made():
    assert PROVENANCE["command"].startswith("edgewise train python-topics.txt")
    assert PROVENANCE["made_by"] == "scripts/samples"
    assert re.fullmatch(r"[0-9a-f]{64}", PROVENANCE["text"]["sha256"])
    assert PROVENANCE["text"]["licence"] == "PSF-2.0"
    assert datetime.date.fromisoformat(PROVENANCE["date"])
    assert {"edgewise", "torch", "parameters", "stored_as", "losses"} <= PROVENANCE.keys()


def test_its_losses_and_its_size_are_those_of_its_checkpoint():
    run = load(shipped())
    assert PROVENANCE["losses"]["validation"] == pytest.approx(run.validation_loss)
    assert PROVENANCE["losses"]["step"] == run.step
    assert sum(parameter.numel() for parameter in run.model.parameters()) == PROVENANCE["parameters"]
    assert PROVENANCE["losses"]["validation"] < 1.3 < PROVENANCE["losses"]["validation_at_start"]


def test_nothing_in_it_names_a_place_on_a_machine():
    for path in shipped().iterdir():
        assert b"/home" not in path.read_bytes()
        assert b"/tmp" not in path.read_bytes()


def test_it_writes_words():
    (text,) = sample(prompt="The ", tokens=600, temperature=0.5, seed=1)
    words = re.findall(r"[a-z]+", text.lower())
    common = {
        "the",
        "a",
        "of",
        "to",
        "is",
        "in",
        "and",
        "for",
        "an",
        "be",
        "as",
        "are",
        "or",
        "by",
        "that",
        "this",
        "it",
    }
    assert sum(word in common for word in words) / len(words) > 0.3


def test_it_writes_the_same_with_and_without_a_cache():
    texts = [sample(prompt="The ", tokens=160, count=2, cached=cached) for cached in (True, False)]
    assert texts[0] == texts[1]
