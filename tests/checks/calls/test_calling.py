import random

import numpy as np
import pytest
import torch
from tests.checks import callees

from edgewise.checks.calls.calling import Refused, answer
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.sampling import sampled


def test_what_is_random_is_the_same_again_by_its_seed_and_leaves_no_trace():
    subject = subject_of(callees.Random())
    given = sampled(subject)
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    one, again, other = (answer(subject, given, Route(), seed=seed).out for seed in (0, 0, 1))
    after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_training_mode_is_without_dropout_and_everything_is_put_back():
    module = callees.Dropping().train()
    subject = subject_of(module)
    given, route = sampled(subject), Route(training=True)
    mean = module.norm.running_mean.clone()
    one, two = (answer(subject, given, route, seed=seed).out for seed in (0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, answer(subject, given, route, dropout=True).out)
    assert (module.drop.p, module.dropout, module.training, module.drop.training) == (0.5, 0.5, True, True)
    torch.testing.assert_close(module.norm.running_mean, mean, rtol=0, atol=0)


def test_a_target_that_writes_into_what_it_is_given_gets_a_copy():
    subject = subject_of(callees.Writing())
    given = sampled(subject)
    before = given.tokens.clone()
    assert answer(subject, given, Route()).mutated == ("x",)
    assert torch.equal(given.tokens, before)


def test_another_dtype_is_a_copy_that_is_made_once():
    module = callees.Plain()
    subject = subject_of(module)
    given = sampled(subject)
    assert answer(subject, given, Route(dtype="bfloat16")).out.dtype == torch.bfloat16
    twin = subject.casts[torch.bfloat16]
    assert answer(subject, given, Route(dtype="bfloat16")).out.dtype == torch.bfloat16
    assert subject.casts[torch.bfloat16] is twin
    assert module.project.weight.dtype == torch.float32


def test_gradients_are_kept_where_they_are_asked_for():
    subject = subject_of(callees.Plain())
    given = sampled(subject)
    tokens = given.tokens.requires_grad_()
    assert not answer(subject, given, Route()).out.requires_grad
    answer(subject, given, Route(), gradient=True).out.sum().backward()
    assert tokens.grad is not None


def test_weights_are_of_batch_heads_query_and_key():
    subject = subject_of(callees.Weighed())
    found = answer(subject, sampled(subject), Route(weights=True))
    assert found.out.shape == (2, 5, 16)
    assert found.weights is not None
    assert found.weights.shape == (2, 1, 5, 5)
    assert answer(subject, sampled(subject), Route(weights=False)).weights is None


def test_no_number_is_an_answer_too():
    class Nothing(callees.Layer):
        def forward(self, x):
            return self.project(x) * float("nan")

    subject = subject_of(Nothing())
    assert not subject.finite
    assert not answer(subject, sampled(subject), Route()).finite
    assert "answers NaN to a plain input" in str(subject)


@pytest.mark.parametrize(
    ("target", "told", "route", "message"),
    [
        (callees.Plain, {"keep": torch.ones(2, 5, dtype=torch.bool)}, Route(), "it takes no mask of padding"),
        (callees.Plain, {"positions": torch.zeros(2, 5).long()}, Route(), "it takes no positions"),
        (callees.Plain, {"documents": torch.zeros(2, 5).long()}, Route(), "it cannot be told where documents begin"),
        (callees.Plain, {"memory": torch.zeros(2, 5, 16)}, Route(), "it reads no memory"),
        (callees.Plain, {}, Route(cached=(3, 1)), "it has no cache that was found"),
        (
            callees.Plain,
            {},
            Route(backend="sdpa"),
            "it has no choice of attention implementations, so none called sdpa",
        ),
        (
            callees.Lengths,
            {"keep": torch.tensor([[True] * 5, [False] * 2 + [True] * 3])},
            Route(),
            "lengths says how many tokens are real, so padding is at the end alone",
        ),
    ],
)
def test_a_route_that_is_not_taken_is_refused_in_a_sentence(target, told, route, message):
    subject = subject_of(target)
    with pytest.raises(Refused, match=message):
        answer(subject, Given(torch.randn(2, 5, 16), **told), route)


def test_a_call_may_take_so_long_and_no_longer():
    class Slow(callees.Layer):
        slow = False

        def forward(self, x):
            while self.slow:
                pass
            return self.attended(x)

    module = Slow()
    subject = subject_of(module)
    module.slow = True
    with pytest.raises(Refused, match=r"it took longer than 0\.1 seconds"):
        answer(subject, sampled(subject), Route(), seconds=0.1)


def test_padding_told_by_its_id_alone_needs_no_mask():
    from edgewise.checks.meaning.declared import Declared

    subject = subject_of(callees.Language(), Declared(pad=0))
    assert (subject.pad, subject.pads_by_id) == (0, True)
    given = sampled(subject, 2, 5).replace(keep=torch.tensor([[True] * 5, [True] * 3 + [False] * 2]))
    assert answer(subject, given, Route(mask="right")).out.shape == (2, 5, 65)


def test_positions_restart_in_every_document_and_begin_at_the_first_real_token():
    from edgewise.checks.calls.arguments import counted

    tokens = torch.zeros(1, 6, 4)
    assert counted(Given(tokens, documents=torch.tensor([[0, 0, 1, 1, 1, 4]]))).tolist() == [[0, 1, 0, 1, 2, 0]]
    keep = torch.tensor([[False, False, True, True, True, True]])
    assert counted(Given(tokens, keep=keep)).tolist() == [[0, 0, 0, 1, 2, 3]]


def test_the_expression_for_replays_is_what_is_called():
    module = callees.Masked()
    subject = subject_of(module)
    given = sampled(subject).replace(keep=torch.tensor([[True] * 5, [True] * 4 + [False]]))
    code = subject.code(Route(mask="right"))
    assert code == "model(x, key_padding_mask=~keep)"
    found = eval(code, {"model": module, "x": given.tokens, "keep": given.keep})
    torch.testing.assert_close(found, answer(subject, given, Route(mask="right")).out)


def test_a_buffer_that_training_replaces_is_put_back():
    class Centred(callees.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("centre", torch.zeros(callees.WIDTH))

        def forward(self, x):
            if self.training:
                self.centre = 0.9 * self.centre + 0.1 * x.mean((0, 1))
            return self.attended(x) - self.centre

    module = Centred()
    centre = module.centre
    subject = subject_of(module)
    answer(subject, sampled(subject), Route(training=True))
    assert module.centre is centre
    assert not module.centre.any()
