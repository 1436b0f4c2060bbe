"""The arithmetic of the blocks route where exp(score) leaves its range, and on several threads."""

from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from edgewise.attention import attend, kernel, reference
from edgewise.graphs import causal, chunks, window


def gradients(out: Tensor, leaves: list[Tensor], towards: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(out, leaves, towards)


@pytest.mark.parametrize("shift", [-300.0, -80.0, -60.0, 60.0, 80.0, 300.0])
@pytest.mark.parametrize("sinks", [None, torch.tensor([0.5, -200.0])])
def test_scores_of_any_size_give_the_weights_of_the_reference(shift: float, sinks: Tensor | None) -> None:
    query, key, value = (torch.randn(2, 200, 8, dtype=torch.float64) for _ in range(3))
    query, key = query.float(), key.float()
    query[:, 50:100, 0] = shift  # some rows only: the others stay within range
    key[..., 0] = 1.0
    leaves = [query.requires_grad_(), key.requires_grad_(), value.float().requires_grad_()]
    found = attend(*leaves, window(40), scale=1.0, sinks=sinks, route="blocks")
    wanted = reference(*leaves, window(40), scale=1.0, sinks=sinks).out
    torch.testing.assert_close(found, wanted, atol=2e-4, rtol=2e-4)
    towards = torch.randn_like(wanted)
    for one, other in zip(gradients(found, leaves, towards), gradients(wanted, leaves, towards), strict=True):
        torch.testing.assert_close(one, other, atol=2e-4 * other.abs().max().item(), rtol=2e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_key_that_may_not_be_read_changes_nothing_even_at_infinity(dtype: torch.dtype) -> None:
    query, key, value = (torch.randn(1, 2, 128, 8, dtype=dtype) for _ in range(3))
    key[..., 64:, :] = 30000.0  # exp of these scores is infinite, and nobody in the first chunk may read them
    found = attend(query, key, value, chunks(64), route="blocks")[..., :64, :]
    wanted = reference(query[..., :64, :], key[..., :64, :], value[..., :64, :]).out
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance)


def test_threads_give_the_bits_of_one_thread() -> None:
    leaves = [torch.randn(3, 4, 300, 16, requires_grad=True) for _ in range(3)]
    bias = torch.randn(4, 300, 300, dtype=torch.float64).float().requires_grad_()
    towards = torch.randn(3, 4, 300, 16)
    results = []
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            with patch.object(kernel, "_WORTH", 0):
                out = attend(*leaves, causal() & window(100), bias=bias, route="blocks")
                results.append([out, *gradients(out, [*leaves, bias], towards)])
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        for one, two in zip(results[0][:-1], other[:-1], strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=0)
        # A bias is shared by sequences, whose sums are added in another order.
        torch.testing.assert_close(results[0][-1], other[-1])
