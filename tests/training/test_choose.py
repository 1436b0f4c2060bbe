import pytest
import torch

from edgewise.training.choose import AHEAD, Chooser, keep_nucleus, keep_top

LOGITS = torch.tensor([1.5, -0.5, 0.7, 2.2, -3.0, 0.0])


def shares(times=40_000, logits=LOGITS, **choice):
    chosen = Chooser(**choice)
    rows = logits.expand(8, -1)
    counts = sum(torch.bincount(chosen(rows), minlength=len(logits)) for _ in range(times // 8))
    return counts / times


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_tokens_come_as_often_as_softmax_says(temperature):
    expected = torch.softmax(LOGITS / temperature, 0)
    # four standard deviations of a share of 40,000 draws
    torch.testing.assert_close(shares(temperature=temperature, seed=5), expected, rtol=0, atol=4 * 0.5 / 200)


def test_top_k_leaves_the_likeliest_and_their_proportions():
    expected = torch.softmax(LOGITS.masked_fill(LOGITS < 1.0, -torch.inf), 0)
    torch.testing.assert_close(shares(top_k=2, seed=1), expected, rtol=0, atol=0.01)


def test_top_p_leaves_the_fewest_that_reach_it_and_their_proportions():
    probabilities = torch.softmax(LOGITS, 0)
    assert probabilities[3] < 0.6 < probabilities[3] + probabilities[0]
    expected = torch.softmax(LOGITS.masked_fill(LOGITS < 1.0, -torch.inf), 0)
    torch.testing.assert_close(shares(top_p=0.6, seed=2), expected, rtol=0, atol=0.01)


def test_top_k_comes_before_top_p():
    flat = torch.tensor([0.1, 0.0, -0.01, -0.02])
    # of two tokens the first has more than half; of four it has not
    assert shares(800, flat, top_k=2, top_p=0.5)[0] == 1
    assert shares(800, flat, top_p=0.5)[0] < 1


def test_a_tiny_top_p_still_leaves_the_likeliest():
    assert keep_nucleus(LOGITS[None], 1e-9).isfinite().nonzero().tolist() == [[0, 3]]


def test_top_k_beyond_the_vocabulary_keeps_all():
    assert (shares(4000, top_k=100) > 0).sum() == (shares(4000) > 0).sum()


def test_rows_are_cut_each_by_its_own_logits():
    rows = torch.stack([LOGITS, -LOGITS])
    assert keep_top(rows, 1).isfinite().nonzero().tolist() == [[0, 3], [1, 4]]
    assert keep_nucleus(rows, 0.1).isfinite().nonzero().tolist() == [[0, 3], [1, 4]]


def test_temperature_zero_takes_the_likeliest_whatever_the_seed():
    assert {Chooser(0.0, seed=seed)(LOGITS[None]).item() for seed in range(20)} == {3}


def test_a_temperature_near_zero_takes_the_likeliest():
    assert {Chooser(1e-37, seed=seed)(1000 + LOGITS[None]).item() for seed in range(20)} == {3}


def test_a_sequence_does_not_depend_on_how_many_stand_beside_it():
    steps = 2 * AHEAD // len(LOGITS) + 3  # past two refills of the noise
    alone, beside = Chooser(seed=6), Chooser(seed=5)
    first = [alone(LOGITS[None]).item() for _ in range(steps)]
    assert [beside(LOGITS.expand(3, -1))[1].item() for _ in range(steps)] == first


def test_the_same_seed_draws_the_same_and_another_another():
    draws = [[Chooser(seed=seed)(LOGITS.expand(40, -1)).tolist()] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_nothing_is_drawn_from_torchs_own_generator():
    before = torch.random.get_rng_state()
    Chooser()(LOGITS[None])
    torch.testing.assert_close(torch.random.get_rng_state(), before)
