import numpy as np
import pytest

from edgewise.records import Array, Call, Record, Site, tile
from edgewise.views.doing import doing


def test_the_six_numbers_are_means_over_the_rows_of_the_weights(shown):
    call = shown.calls[0]
    for one in doing(shown, call):
        weights = tile(call, 0, one.head).astype(np.float64)
        rows = np.arange(12)
        entropy = -np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1)), 0).sum(1)
        far = np.abs(rows[:, None] - rows[None])
        wanted = {
            "entropy": entropy.mean(),
            "distance": (weights * far).sum(1).mean(),
            "first": weights[:, 0].mean(),
            "previous": weights[rows[1:], rows[:-1]].mean(),
            "self": weights[rows, rows].mean(),
        }
        for name, value in wanted.items():
            assert getattr(one, name) == pytest.approx(value, abs=1e-6), name


def test_induction_is_the_weight_on_what_followed_the_same_token_before(shown):
    weights = tile(shown.calls[0], 0, 2).astype(np.float64)
    # " the" came at 4, again at 7; " cat" came at 1, again at 8. "the" is another token than " the".
    wanted = np.mean([weights[7, 5], weights[8, 2]])
    assert doing(shown, shown.calls[0])[2].induction == pytest.approx(wanted, abs=1e-6)


def test_a_head_that_reads_the_token_before_is_told_by_its_number():
    site, tokens, width = Site("one", 0, "self", 1, 1, 64), 300, 64
    rate = 10000.0 ** (-np.arange(0, width, 2) / width)

    def turned(positions):
        angles = positions[:, None] * rate
        return np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float32)[None, None]

    place = np.arange(tokens)
    query, key = Array.of(turned(place - 1) * 20), Array.of(turned(place))
    call = Call(site, 0, "x", query, key, key, query, 1.0)
    one = doing(Record((call,)), call)[0]
    assert one.previous > 0.9
    assert one.self < 0.1
    assert one.induction is None


def test_rows_that_see_nothing_count_for_nothing(calls):
    call = calls[0]
    allowed = np.tril(np.ones((12, 12), bool))[None, None].copy()
    allowed[0, 0, 5] = False
    blind = Call(call.site, 0, "x", call.query, call.key, call.value, call.out, call.scale, allowed=Array.of(allowed))
    seen = doing(Record((blind,)), blind)[0]
    rows = [row for row in range(12) if row != 5]
    assert seen.first == pytest.approx(float(tile(blind, 0, 0)[rows, 0].mean()), abs=1e-6)
