"""Long inputs of a large target are measured on the plain route, and the other routes have few tokens."""

import torch
from tests.checks.layers import Layer, filled, lab_of

import edgewise.checks.long
from edgewise import check
from edgewise.checks.lab.lab import Lab
from edgewise.checks.long import length_elsewhere


def late(scores):
    """Causal, and from row 20 on nothing of the first ten keys is read."""
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    hidden[..., 20:, :10] = True
    return scores.masked_fill(hidden, float("-inf"))


def test_a_small_target_is_as_long_on_every_route():
    subject = lab_of(Layer()).subject
    assert [length_elsewhere(subject, one) for one in (64, 6)] == [64, 6]


def test_as_many_tokens_as_are_asked_for_are_read():
    assert Lab(lab_of(Layer()).subject, length=64).length == 64


def test_a_large_target_is_long_on_the_plain_route_and_short_on_the_others(monkeypatch):
    monkeypatch.setattr(edgewise.checks.long, "LARGE", 1e3)
    layer = Layer(filled(float("-inf")))
    assert length_elsewhere(lab_of(layer).subject, 32) == 8
    report = check(layer, length=32, only=["lost-visibility", "scale"])
    assert report.exit_status == 0
    assert "32 tokens on the plain route; a pass of it is long, so the other routes have 8" in report.notes
    assert len(report.measured.cells) == 32


def test_a_pattern_that_begins_late_is_told_of_a_large_target(monkeypatch):
    monkeypatch.setattr(edgewise.checks.long, "LARGE", 1e3)
    (finding,) = check(Layer(late), length=24, graph="causal()", only=["lost-visibility"]).failures
    assert finding.cause.property == "lost-visibility"
    assert str(finding.cause.route) == str(lab_of(Layer()).plain)
