"""The public function under a compiler, and what it costs beside the fused function."""

import time

import numpy as np
import pytest
import torch
from jaxtyping import config
from torch.nn.functional import scaled_dot_product_attention

from edgewise.attention import attend
from edgewise.graphs import Graph, causal, documents, full, keys, window


@pytest.fixture
def _unchecked() -> object:
    # The shape checks of the tests are no part of what is traced or timed.
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "graph",
    [None, full(), causal(), window(5), documents([0] * 20 + [1] * 20) & causal(), keys(np.arange(40) > 3)],
    ids=repr,
)
def test_a_whole_graph_is_traced_without_a_break(graph: Graph | None, dtype: torch.dtype) -> None:
    torch._dynamo.reset()
    query, key, value = (torch.randn(2, 4, 40, 16, dtype=dtype, requires_grad=True) for _ in range(3))
    traced = torch.compile(lambda q, k, v: attend(q, k, v, graph), fullgraph=True, backend="aot_eager")
    found = traced(query, key, value)
    torch.testing.assert_close(found, attend(query, key, value, graph), atol=1e-2, rtol=1e-2)
    found.sum().backward()
    assert query.grad is not None


@pytest.mark.usefixtures("_unchecked")
def test_attend_adds_microseconds_to_the_fused_function() -> None:
    x, graph = torch.randn(1, 1, 4, 8), causal()

    def shortest(job: object) -> float:
        taken = []
        for _ in range(300):
            begun = time.perf_counter()
            job()
            taken.append(time.perf_counter() - begun)
        return min(taken)

    direct = shortest(lambda: scaled_dot_product_attention(x, x, x, is_causal=True))
    assert shortest(lambda: attend(x, x, x, graph)) - direct < 50e-6
