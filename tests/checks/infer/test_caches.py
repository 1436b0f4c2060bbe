import pytest
import torch
from tests.checks import callees

from edgewise.checks.calls.calling import answer
from edgewise.checks.calls.route import Route
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.sampling import sampled
from edgewise.tracing import tiny_target


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (callees.Stepping, "goes on from cache (first None, returned as 1)"),
        (callees.Both, "goes on from state of step (first None, returned as 1)"),
        (callees.Filling, "goes on from cache (first new_cache(batch), changed in place)"),
        (callees.Beside, "goes on from past_key_value (first None, returned as 1, use_cache=True)"),
        (callees.Buffered, "goes on from what it keeps itself, told where it stands"),
    ],
)
def test_a_cache_is_found_and_going_on_with_it_is_reading_at_once(target, said):
    subject = subject_of(target)
    assert said in str(subject)
    given = sampled(subject, 2, 7)
    whole = answer(subject, given, Route()).out
    for cached in [(3, 1), (2, 4, 1)] if target is not callees.Stepping else [(6, 1)]:
        parts = answer(subject, given, Route(cached=cached)).out
        torch.testing.assert_close(parts[:, : whole.shape[1]], whole)


def test_weights_beside_a_cache_are_not_taken_for_it():
    subject = subject_of(callees.Beside)
    assert subject.caching is not None
    assert (subject.caching.returned, subject.caching.beside_weights) == ((1,), (2,))
    given = sampled(subject, 2, 6)
    whole, parts = (answer(subject, given, Route(weights=True, cached=cached)) for cached in ((), (3, 1)))
    assert whole.weights is not None
    assert parts.weights is not None
    torch.testing.assert_close(parts.weights, whole.weights)


def test_a_cache_that_is_never_filled_is_none():
    class Idle(callees.Layer):
        def forward(self, x, cache=None):
            return self.attended(x)

    assert subject_of(Idle()).caching is None


def test_a_step_of_its_own_that_hides_nothing_is_fed_one_token_at_a_time():
    class Both(callees.Layer):
        def forward(self, x):
            return self.attended(x, causal=True)

        def step(self, x, cache):
            new = self.project(x)
            past = new if cache is None else torch.cat([cache, new], dim=1)
            return self.attended(x, past), past

    subject = subject_of(Both())
    assert subject.caching.single
    assert "of step, one token at a time" in str(subject)


@pytest.mark.parametrize("name", ["t5", "switch_transformers", "moonshine"])
def test_what_an_encoder_gave_is_handed_on_to_the_later_parts(name):
    pytest.importorskip("transformers")
    subject = subject_of(tiny_target(name))
    assert subject.caching is not None
    assert subject.caching.encoded
    given, runs = sampled(subject, 2), []
    hook = subject.target.get_encoder().register_forward_hook(lambda *_: runs.append(1))
    parts = answer(subject, given, Route(cached=(3, 1))).out
    assert len(runs) == 1
    hook.remove()
    torch.testing.assert_close(parts, answer(subject, given, Route()).out, atol=1e-5, rtol=1e-4)
