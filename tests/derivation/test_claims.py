"""Every claim holds, and every claim can fail."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from edgewise.derivation import CLAIMS, Claim, choose
from edgewise.derivation.claims import (
    bigram,
    direction,
    encoder,
    graph,
    matmul,
    position,
    query_key,
    scale,
    softmax,
    split,
    value,
)
from edgewise.derivation.expected import Above, Below, Near
from edgewise.derivation.lab import Lab
from edgewise.derivation.reading import Reading
from edgewise.graphs import causal, full, window
from edgewise.ladder import rung

LISTED = """
vocab.size bigram.same-row bigram.initial-loss bigram.trained-loss chunk.eight-questions
split.parameters split.head-init split.initial-loss split.no-gain
average.by-hand average.bag-of-words average.dimension-free average.loop-cost
matmul.rows matmul.all-ones matmul.lower-triangular matmul.zero-weight matmul.normalised matmul.broadcast
matmul.keepdim-trap matmul.negative-weight matmul.zero-sum
softmax.by-hand softmax.future-exactly-zero softmax.zeros-is-average softmax.shift-invariant softmax.monotone
softmax.row-max-gradient
direction.row direction.differs direction.row-stochastic direction.batchnorm-couples direction.batch-of-one
position.set position.by-hand position.shapes position.add-keeps-dimension position.learned-limit position.sinusoidal
position.rotary
qk.one-line qk.dot-measures-alignment qk.no-communication-yet qk.compatibility-table qk.asymmetric
qk.shared-is-symmetric qk.rank qk.key-bias-does-nothing qk.computed-not-parameter qk.three-stages
qk.triangle-from-mask qk.transpose-last-two
v.weights-unmoved v.shape hand.worked-table hand.pure-python hand.content-dependent
graph.edges-only space.permutation batch.no-communication batch.learning-couples
encoder.one-line encoder.sees-all encoder.cheating encoder.cloze cross.shape cross.self-is-special-case
scale.variance-grows scale.variance-restored scale.term-variance scale.sharpening scale.gradient-vanishes
scale.worst-at-initialisation
head.loss-falls
"""
IDS = LISTED.split()

QUICK = [claim for claim in CLAIMS if not claim.needs_corpus]
TRAINING = ["bigram.trained-loss", "split.no-gain", "encoder.cheating", "encoder.cloze", "head.loss-falls"]


def named(id: str) -> Claim:
    return next(claim for claim in CLAIMS if claim.id == id)


def test_the_claims_are_the_seventy_four_of_the_document_in_its_order() -> None:
    assert len(IDS) == 74
    assert [claim.id for claim in CLAIMS] == IDS


def test_the_claims_that_train_say_how_long_they_take() -> None:
    assert [claim.id for claim in CLAIMS if claim.seconds] == TRAINING
    assert all(claim.needs_corpus for claim in CLAIMS if claim.seconds)


def test_an_exact_claim_has_no_room_for_error() -> None:
    loose = {claim.id for claim in CLAIMS if claim.kind == "exact" and "Near" in str(claim.expected)}
    # Where a row sums to 1, or zero for a future, the rest of the claim is exact.
    assert loose == {"matmul.keepdim-trap", "softmax.future-exactly-zero"}


@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: claim.id)
def test_a_quick_claim_holds(claim: Claim) -> None:
    result = claim.run(Lab())
    assert result.status == "holds", f"{result} expected {result.expected}"
    assert result.says.endswith(".")


@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: claim.id)
def test_a_quick_claim_fails_when_anything_it_expects_is_spoilt(claim: Claim) -> None:
    measured = claim.run(Lab()).measured
    for name in claim.expected:
        spoilt = dataclasses.replace(
            claim,
            expected={**claim.expected, name: spoil(claim.expected[name])},
            measure=lambda _: measured,
        )
        assert spoilt.run(Lab()).status == "fails", name


def spoil(expected: Any) -> Any:
    match expected:
        case bool():
            return not expected
        case Near():
            return Near(spoil(expected.value), expected.within / 1e6)
        case Below():
            return Below(-math.inf)
        case Above():
            return Above(math.inf)
        case str():
            return expected + "?"
        case list() | tuple():
            return [spoil(expected[0]), *expected[1:]]
        case _:
            return expected + 1


def _hot(along: str) -> torch.Tensor:
    return torch.ones(3, 3)


BROKEN = [
    ("bigram.same-row", bigram, "rung", lambda _: rung("softmax")),
    ("split.parameters", split, "rung", lambda name: rung("positions" if name == "split" else name)),
    ("matmul.negative-weight", matmul, "shares_of", lambda scores: [0.3, 0.1, 0.6]),
    ("softmax.future-exactly-zero", softmax, "causal", full),
    ("softmax.zeros-is-average", softmax, "causal", full),
    ("direction.differs", direction, "shared", _hot),
    ("direction.row", direction, "shared", _hot),
    ("position.rotary", position, "rotary", lambda x, at: x + at[:, None]),
    ("position.set", position, "causal", lambda: causal() & window(2)),
    ("qk.asymmetric", query_key, "KEY", query_key.QUERY),
    ("qk.compatibility-table", query_key, "QUERY", [[1.0, 0.0, 3.0], [0.0, 1.0, 0.5]]),
    ("qk.triangle-from-mask", query_key, "causal", full),
    ("hand.worked-table", value, "VALUE", [[10.0, 0.0, 5.0], [0.0, 11.0, 5.0]]),
    ("encoder.sees-all", encoder, "full", causal),
    ("scale.variance-restored", scale, "score_variance", lambda width, factor=1.0: float(width)),
    ("scale.sharpening", scale, "SCORES", torch.zeros(5)),
    ("batch.no-communication", graph, "_head", lambda x, weights: x + x.mean()),
    ("space.permutation", graph, "full", causal),
]


@pytest.mark.parametrize(
    ("id", "module", "name", "broken"), BROKEN, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_claim_fails_when_what_it_measures_is_broken(
    id: str, module: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, broken)
    assert named(id).run(Lab()).status == "fails"


def test_claims_need_tinyshakespeare_where_no_text_or_another_is_there() -> None:
    another = Reading("another", "another text", "to be, or not to be: " * 40)
    for lab in (Lab(), Lab(another)):
        for claim in CLAIMS:
            if claim.needs_corpus:
                result = claim.run(lab)
                assert result.status == "skipped"
                assert result.why == "needs tinyshakespeare (--text PATH)"
                assert result.record()["why"] == result.why
                assert str(result) == f"{claim.id} skipped: needs tinyshakespeare (--text PATH)"


def test_the_size_of_the_vocabulary_holds(shakespeare: Path) -> None:
    assert named("vocab.size").run(Lab(Reading.find([shakespeare]))).status == "holds"


@pytest.mark.slow
def test_every_claim_that_trains_holds_and_each_model_is_trained_once(shakespeare: Path) -> None:
    seen: list[str] = []
    lab = Lab(Reading.find([shakespeare]), lambda what, done, steps: seen.append(what) if done == steps else None)
    for claim in choose(TRAINING):
        result = claim.run(lab)
        assert result.status == "holds", f"{result} expected {result.expected}"
    assert sorted(seen) == sorted(set(seen))
    assert {"bigram", "split", "scale", "encoder"} < set(seen)


def test_a_model_trained_on_nothing_new_fails_its_claim(shakespeare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import edgewise.derivation.lab as lab_module

    monkeypatch.setattr(lab_module, "teach", lambda model, *_, **__: model.eval())
    lab = Lab(Reading.find([shakespeare]))
    for id in TRAINING:
        assert named(id).run(lab).status == "fails", id
