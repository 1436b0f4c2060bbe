"""The blocks route: what it costs, and the graphs that its tiles must get right."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from edgewise.attention import attend, reference
from edgewise.attention.call import checked
from edgewise.attention.routes import forced
from edgewise.errors import ArgumentError, RunError
from edgewise.graphs import Graph, causal, chunks, documents, keys, prefix, window


class Largest(TorchDispatchMode):
    """Numbers in the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else [made]:
            if isinstance(one, torch.Tensor):
                self.numbers = max(self.numbers, one.numel())
        return made


def test_65536_positions_need_no_square_of_numbers_forward_or_backward() -> None:
    length = 65536
    query, key, value = (torch.randn(1, 1, length, 8, requires_grad=True) for _ in range(3))
    with Largest() as largest:
        out = attend(query, key, value, window(64))
        out.sum().backward()
    assert largest.numbers <= 2 * length * 8
    assert query.grad is not None
    last = reference(query[..., -4:, :], key[..., -128:, :], value[..., -128:, :], window(64)).out
    torch.testing.assert_close(out[..., -4:, :], last)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "graph",
    [
        window(40),
        window(20, ahead=10),
        chunks(70) & causal(),
        documents(cumulative=[0, 130, 150, 420, 600]) & causal(),
        documents(np.stack([np.arange(600) // 100, np.arange(600) // 37])),
        prefix(50),
        prefix(50) & documents(cumulative=[0, 300, 600]),
        causal() & (window(30) | keys(np.arange(600) < 4)),
        keys(np.stack([np.arange(600) >= 90, np.arange(600) >= 333])) & causal(),
        ~window(200),
    ],
    ids=repr,
)
def test_real_tiles_agree_with_the_reference(graph: Graph, dtype: torch.dtype) -> None:
    query = torch.randn(2, 6, 500, 16, dtype=dtype, requires_grad=True)
    key, value = (torch.randn(2, 3, 600, 16, dtype=dtype, requires_grad=True) for _ in range(2))
    wanted = reference(query, key, value, graph).out
    found = attend(query, key, value, graph, route="blocks")
    towards = torch.randn_like(wanted)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance)
    leaves = [query, key, value]
    pairs = zip(torch.autograd.grad(found, leaves, towards), torch.autograd.grad(wanted, leaves, towards), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=tolerance * other.abs().max().item(), rtol=tolerance)


def test_inputs_laid_out_in_any_order_are_served() -> None:
    packed = torch.randn(2, 300, 3, 4, 16)
    query, key, value = packed.permute(2, 0, 3, 1, 4)
    out = attend(query, key, value, window(20), route="blocks")
    torch.testing.assert_close(out, reference(query, key, value, window(20)).out)


def test_autocast_does_not_reach_into_the_tiles() -> None:
    query = torch.randn(1, 2, 300, 16)
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(query, query, query, window(20), route="blocks")
    torch.testing.assert_close(out, reference(query, query, query, window(20)).out)


def test_the_gradient_of_a_gradient_is_refused() -> None:
    query = torch.randn(1, 8, 4, requires_grad=True)
    out = attend(query, query, query, route="blocks")
    with pytest.raises(RunError) as caught:
        torch.autograd.grad(out.sum(), query, create_graph=True)
    assert str(caught.value) == "the blocks route has no second derivative; ask attend for route='matmul', which has"


def test_three_dimensions_cannot_be_heads_and_batch_at_once() -> None:
    x, shared = torch.zeros(4, 5, 8), torch.zeros(2, 5, 8)
    graph = documents(np.zeros((4, 5), int))
    call = checked(x, shared, shared, graph, None, None, None, None, 0.0, None)
    message = "cannot serve grouped heads in three dimensions with a graph that differs by sequence"
    with pytest.raises(ArgumentError, match=message):
        forced(call, "blocks")
