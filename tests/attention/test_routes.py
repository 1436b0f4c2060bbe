"""Every route against the reference, values and gradients; which route is taken, and why."""

from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgewise.attention import attend, blocks, reference, route_of
from edgewise.attention.call import checked
from edgewise.attention.routes import ROUTES, forced
from edgewise.errors import ArgumentError
from edgewise.graphs import Graph, causal, chunks, documents, full, keys, prefix, window

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@st.composite
def graphs(draw: st.DrawFn, key: int, batch: int | None) -> Graph | Tensor | None:
    random = np.random.default_rng(draw(st.integers(0, 99)))
    shape = (key,) if batch is None or draw(st.booleans()) else (batch, key)
    n = draw(st.integers(1, key))
    rules = [
        causal(),
        full(),
        window(n, draw(st.integers(0, 3))),
        prefix(n),
        chunks(n),
        documents(np.sort(random.integers(0, 3, shape))),
        documents(random.integers(0, 3, shape)),
        keys(random.random(shape) < 0.6),
    ]
    one, other = draw(st.sampled_from(rules)), draw(st.sampled_from(rules))
    return draw(st.sampled_from([None, one, ~one, one & other, one | other, one & other & causal()]))


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[Tensor], Graph | Tensor | None, dict[str, object]]:
    dtype = draw(st.sampled_from(list(TOLERANCE)))
    lead = draw(st.sampled_from([None, (), (1,), (2,), (2, 3)]))
    groups, each = draw(st.sampled_from([(1, 1), (3, 1), (1, 3), (2, 2)]))
    query, key = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    width, channels = draw(st.sampled_from([(4, 4), (8, 3)]))
    torch.manual_seed(draw(st.integers(0, 999)))
    shared = () if lead is None else (*lead, groups)
    heads = 1 if lead is None else groups * each
    asks = () if lead is None else (*lead, heads)
    q = torch.randn(*asks, query, width, dtype=dtype, requires_grad=True)
    k = torch.randn(*shared, key, width, dtype=dtype, requires_grad=True)
    v = torch.randn(*shared, key, channels, dtype=dtype, requires_grad=True)
    graph = draw(graphs(key, lead[0] if lead else None))
    if isinstance(graph, Graph) and draw(st.integers(0, 4)) == 0:
        graph = torch.from_numpy(graph.dense(query, key)) if graph.batch is None else graph
    # In float64 also scores so large that exp of them overflows.
    scales = [None, 1.0, 0.0, -0.5] + [60.0] * (dtype == torch.float64)
    more: dict[str, object] = {"scale": draw(st.sampled_from(scales))}
    if draw(st.booleans()):
        shapes = [(query, key), (1, key), (query, 1), (heads, query, key), (heads, 1, key), (*asks, query, key)]
        shape = draw(st.sampled_from(shapes if lead is not None else shapes[:3]))
        bias = torch.randn(shape, dtype=dtype)
        if draw(st.booleans()):
            bias[..., 0] = -torch.inf
        more["bias"] = bias.requires_grad_()
    if draw(st.booleans()):
        more["soft_cap"] = 2.0
    if draw(st.booleans()):
        more["sinks"] = torch.randn(heads, dtype=dtype, requires_grad=True)
    return [q, k, v], graph, more


@given(calls(), st.sampled_from(["matmul", "sdpa", "blocks", "auto"]), st.sampled_from([2, 5, 64]))
@settings(max_examples=300)
def test_a_route_gives_the_values_and_gradients_of_the_reference(
    call: tuple[list[Tensor], Graph | Tensor | None, dict[str, object]], route: str, height: int
) -> None:
    tensors, graph, more = call
    if route != "auto":
        defaults = {"scale": None, "bias": None, "soft_cap": None, "sinks": None, "dropout": 0.0, "generator": None}
        if ROUTES[route].obstacle(checked(*tensors, graph, **(defaults | more))) is not None:
            return
    leaves = [*tensors, *(value for value in more.values() if isinstance(value, Tensor))]
    wanted = reference(*tensors, graph, **more).out
    towards = torch.randn_like(wanted)
    gradients = torch.autograd.grad(wanted, leaves, towards)
    with patch.object(blocks, "_height", lambda *_: height):
        found = attend(*tensors, graph, **more, route=route)
    assert found.dtype == wanted.dtype
    close(found, wanted)
    for one, other in zip(torch.autograd.grad(found, leaves, towards), gradients, strict=True):
        close(one, other)


def close(found: Tensor, wanted: Tensor) -> None:
    assert wanted.isfinite().all()
    tolerance = TOLERANCE[wanted.dtype] * max(1.0, wanted.abs().max().item())
    torch.testing.assert_close(found, wanted, atol=tolerance, rtol=0)


@pytest.mark.parametrize("route", ["reference", "matmul", "sdpa", "blocks"])
def test_a_query_without_a_key_takes_home_zeros_and_passes_zeros_back(route: str) -> None:
    q, k, v = (torch.randn(2, 4, 9, 8, requires_grad=True) for _ in range(3))
    nobody = keys(np.array([[False] * 9, [True] * 9])) & causal()
    out = attend(q, k, v, nobody, route=route)
    assert (out[0] == 0).all()
    out.sum().backward()
    for tensor in (q, k, v):
        assert tensor.grad is not None
        assert (tensor.grad[0] == 0).all()
        assert tensor.grad.isfinite().all()


@pytest.mark.parametrize("route", ["reference", "matmul", "sdpa", "blocks"])
def test_no_positions_at_all_are_served(route: str) -> None:
    q, k = torch.randn(2, 0, 4), torch.randn(2, 3, 4)
    assert attend(q, k, k, causal(), route=route).shape == (2, 0, 4)
    assert (attend(k, q, q, route=route) == 0).all()


def test_large_scores_in_bfloat16_stay_near_the_reference() -> None:
    q, k, v = (torch.randn(2, 64, 16).bfloat16() for _ in range(3))
    wanted = reference(q.float(), k.float(), v.float(), causal(), scale=2.0).out
    for route in ("matmul", "sdpa", "blocks"):
        found = attend(q, k, v, causal(), scale=2.0, route=route).float()
        assert (found - wanted).square().mean().sqrt() < 0.05


def test_dropout_drops_its_share_and_is_the_same_for_the_same_seed() -> None:
    x, eye = torch.zeros(1, 200, 4), torch.eye(200)[None]
    for route in ("reference", "matmul"):
        weights = attend(x, x, eye, dropout=0.25, generator=torch.Generator().manual_seed(1), route=route)
        again = attend(x, x, eye, dropout=0.25, generator=torch.Generator().manual_seed(1), route=route)
        torch.testing.assert_close(weights, again, rtol=0, atol=0)
        assert abs((weights == 0).float().mean().item() - 0.25) < 0.01
        torch.testing.assert_close(weights.max(), torch.tensor(1 / 200 / 0.75))
    weights = attend(x, x, eye, dropout=0.25, route="sdpa")
    assert abs((weights == 0).float().mean().item() - 0.25) < 0.01


def q(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(*shape, dtype=dtype)


@pytest.mark.parametrize(
    ("tensor", "graph", "more", "route", "why"),
    [
        (q(1, 2, 8, 4), None, {}, "sdpa", "the fused function serves this"),
        (q(1, 2, 8, 4), causal(), {}, "sdpa", "the fused function serves this"),
        (q(1, 2, 8, 4), window(2), {}, "sdpa", "the fused function serves this, given a dense mask"),
        (q(1, 2, 8, 4), None, {"soft_cap": 1.0}, "matmul", "the fused function cannot serve soft_cap"),
        (q(1, 2, 8, 4), None, {"sinks": torch.zeros(2)}, "matmul", "the fused function cannot serve sinks"),
        (q(1, 2, 8, 4), None, {"scale": 0.0}, "matmul", "the fused function cannot serve a scale of 0 or less"),
        (q(1, 2, 512, 4), window(32), {}, "blocks", "30% of the cells hold every edge; the rest is skipped"),
        (q(1, 2, 512, 4), causal(), {"soft_cap": 1.0}, "blocks", "the fused function cannot serve soft_cap"),
        (
            q(1, 2, 8, 4, dtype=torch.bfloat16).requires_grad_(),
            causal(),
            {},
            "matmul",
            "the fused function's backward is slow in half precision on a CPU",
        ),
        (
            q(1, 2, 8, 4),
            None,
            {"dropout": 0.1, "generator": torch.Generator()},
            "matmul",
            "the fused function cannot serve dropout with a generator",
        ),
    ],
)
def test_the_route_and_why(tensor: Tensor, graph: Graph | None, more: dict[str, object], route: str, why: str) -> None:
    assert route_of(tensor, tensor, tensor, graph, **more) == (route, why)


@pytest.mark.parametrize(
    ("route", "shape", "graph", "more", "message"),
    [
        ("sdpa", (8, 4), None, {"soft_cap": 1.0}, "route 'sdpa' cannot serve soft_cap; reference, matmul, blocks can"),
        ("blocks", (8, 4), None, {"dropout": 0.1}, "route 'blocks' cannot serve dropout; reference, matmul, sdpa can"),
        (
            "blocks",
            (8, 4),
            torch.ones(8, 8, dtype=torch.bool),
            {},
            "route 'blocks' cannot serve a graph given as a tensor; reference, matmul, sdpa can",
        ),
        (
            "flex",
            (8, 4),
            None,
            {},
            "route 'flex' cannot serve 2 dimensions (it wants batch, heads, query, width); "
            "reference, matmul, sdpa, blocks can",
        ),
        ("slow", (8, 4), None, {}, "route must be one of auto, reference, matmul, sdpa, blocks, flex; got 'slow'"),
    ],
)
def test_a_route_that_cannot_serve_says_what_stands_in_its_way(
    route: str, shape: tuple[int, ...], graph: Graph | Tensor | None, more: dict[str, object], message: str
) -> None:
    x = torch.zeros(shape)
    with pytest.raises(ArgumentError) as caught:
        attend(x, x, x, graph, **more, route=route)
    assert str(caught.value) == message


def test_flex_says_what_it_lacks() -> None:
    x = torch.zeros(1, 1, 8, 4)
    cases = [
        (x.double(), None, None, 0.0, "float64"),
        (x.clone().requires_grad_(), None, None, 0.0, "gradients on a CPU"),
        (x, torch.zeros(1), None, 0.0, "sinks on a CPU"),
        (x, None, torch.ones(8, 8, dtype=torch.bool), 0.0, "a graph given as a tensor"),
        (x, None, None, 0.1, "dropout"),
    ]
    for tensor, sinks, graph, dropout, obstacle in cases:
        call = checked(tensor, tensor, tensor, graph, None, None, None, sinks, dropout, None)
        with pytest.raises(ArgumentError, match=f"route 'flex' cannot serve {obstacle};"):
            forced(call, "flex")
