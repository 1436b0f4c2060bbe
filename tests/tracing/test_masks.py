"""What masks mean: edges, biases, and the numbers that stand where there is no edge."""

import math

import pytest
import torch

from edgewise.graphs import Graph, causal, full, keys, window
from edgewise.tracing.masks import Deferred, Memory, aligned_at_the_start, edges_of, last_seen

LOWEST = torch.finfo(torch.float32).min
PAST = torch.ones(5, 5, dtype=torch.bool).tril()


def additive(allowed: torch.Tensor, hidden: float) -> torch.Tensor:
    return torch.zeros(allowed.shape).masked_fill(~allowed, hidden)


@pytest.mark.parametrize("hidden", [-math.inf, LOWEST, -1e9, -1e4])
def test_a_number_at_or_below_ten_thousand_less_than_nothing_is_no_edge(hidden: float) -> None:
    found = edges_of((additive(PAST, hidden),), 5, 5, Memory())
    assert found == (causal(), None, pytest.approx(hidden))


def test_any_other_number_is_a_bias() -> None:
    numbers = torch.linspace(-9999, 5, 25).reshape(5, 5)
    found = edges_of((numbers,), 5, 5, Memory())
    assert found.allowed is full()
    torch.testing.assert_close(found.bias, numbers[None, None])


def test_several_masks_hide_what_any_of_them_hides_and_add_up() -> None:
    kept = torch.tensor([True, True, True, True, False])
    bias = torch.ones(5, 5)
    found = edges_of((PAST, additive(kept[None], -math.inf), bias, causal(), 2 * bias), 5, 5, Memory())
    assert found.allowed == causal() & keys(kept.numpy())
    torch.testing.assert_close(found.bias, 3 * bias[None, None])


def test_a_row_that_hides_everything_by_unequal_numbers_keeps_them_as_a_bias() -> None:
    mask = additive(PAST, -1e4)
    mask[0] = torch.tensor([-1e4, -2e4, -1e4, -2e4, -2e4])
    found = edges_of((mask,), 5, 5, Memory())
    assert not isinstance(found.allowed, Graph)
    assert found.allowed[0, 0, 0].all()
    assert found.bias is not None
    torch.testing.assert_close(found.bias[0, 0, 0], mask[0])


def test_a_mask_that_stands_once_for_each_head_is_one() -> None:
    assert edges_of((PAST.expand(2, 3, 5, 5),), 5, 5, Memory()).allowed == causal()
    assert edges_of((PAST.repeat(2, 3, 1, 1),), 5, 5, Memory()).allowed == causal()


def test_causal_from_the_start_has_a_name_where_there_is_one() -> None:
    device = torch.device("cpu")
    assert aligned_at_the_start(4, 4, device) == causal()
    assert aligned_at_the_start(6, 4, device) == window(6, ahead=2)
    dense = aligned_at_the_start(2, 4, device)
    torch.testing.assert_close(dense, torch.ones(2, 4, dtype=torch.bool).tril())
    assert last_seen((dense,), 2, 4, Memory()) == 2


def test_a_mask_is_looked_at_once_and_again_after_it_was_written_into() -> None:
    memory, mask, made = Memory(), PAST.clone(), []
    assert edges_of((mask,), 5, 5, memory) is edges_of((mask,), 5, 5, memory)
    mask[:] = True
    assert edges_of((mask,), 5, 5, memory).allowed is full()

    def make() -> torch.Tensor:
        made.append(1)
        return PAST

    owner = object()
    for _ in range(2):
        assert edges_of((Deferred((owner,), make),), 5, 5, memory).allowed == causal()
    assert made == [1]
