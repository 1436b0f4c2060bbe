"""The door: what is wrong with the arguments is said in one sentence."""

from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import config
from torch import Tensor

from edgewise.attention import attend
from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import causal, documents


def z(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(*shape, dtype=dtype)


def call(query: Tensor, key: Tensor, value: Tensor, graph: Any = None, **more: Any) -> object:
    config.update("jaxtyping_disable", True)  # the shape checks of the tests would speak first
    try:
        return attend(query, key, value, graph, **more)
    finally:
        config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            (z(8), z(8), z(8)),
            "query, key and value must have the same number of dimensions, at least (query, width); got (8,), (8,) "
            "and (8,)",
        ),
        (
            (z(2, 5, 8), z(7, 8), z(7, 8)),
            "query, key and value must have the same number of dimensions, at least (query, width); got (2, 5, 8), "
            "(7, 8) and (7, 8)",
        ),
        ((z(5, 8), z(7, 6), z(7, 6)), "key must be (…, key=7, width=8) like query (5, 8); got (7, 6)"),
        ((z(5, 8), z(8, 7), z(7, 8)), "key must be (…, key=7, width=8) like query (5, 8); got (8, 7) — transposed?"),
        ((z(5, 8), z(7, 8), z(6, 8)), "value must be (7, width), one row for each key; got (6, 8)"),
        ((z(5, 8), z(7, 8), z(8, 7)), "value must be (7, width), one row for each key; got (8, 7) — transposed?"),
        (
            (z(2, 4, 5, 8), z(3, 4, 7, 8), z(3, 4, 7, 8)),
            "key must have the leading axes of query, (2,); got (3, 4, 7, 8) for query (2, 4, 5, 8)",
        ),
        (
            (z(2, 4, 5, 8), z(2, 3, 7, 8), z(2, 3, 7, 8)),
            "query heads must be a multiple of key-value heads; got query (2, 4, 5, 8) with 4 heads and key "
            "(2, 3, 7, 8) with 3",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_told(tensors: tuple[Tensor, Tensor, Tensor], message: str) -> None:
    with pytest.raises(ShapeError) as caught:
        call(*tensors)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            (z(5, 8), z(7, 8).half(), z(7, 8)),
            "query, key and value must have one dtype; got torch.float32, torch.float16 and torch.float32: convert "
            "with .to(query.dtype)",
        ),
        (
            (z(5, 8).long(), z(7, 8).long(), z(7, 8).long()),
            "query, key and value must be floating point; got torch.int64",
        ),
        (
            (z(5, 8), z(7, 8).to("meta"), z(7, 8)),
            "query, key and value must be on one device; got cpu, meta and cpu",
        ),
    ],
)
def test_kinds_that_do_not_fit_are_told(tensors: tuple[Tensor, Tensor, Tensor], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(*tensors)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (
            z(5, 7),
            ArgumentError,
            "graph must be a Graph or a boolean tensor, True = may attend; got torch.float32: an additive mask is "
            "given as bias=, a mask of ones and zeros as mask.bool()",
        ),
        (
            z(7, 5).bool(),
            ShapeError,
            "graph must broadcast to the scores (…, query=5, key=7) = (2, 4, 5, 7); got (7, 5) — transposed?",
        ),
        (
            "causal",
            ArgumentError,
            "graph must be a Graph such as causal(), or a boolean tensor, True = may attend; got str",
        ),
        (
            causal,
            ArgumentError,
            "graph must be a Graph such as causal(), or a boolean tensor, True = may attend; got function",
        ),
        (
            documents(np.zeros((3, 7), int)),
            ShapeError,
            "graph differs by sequence, so query's first axis must be batch=3; got (2, 4, 5, 8)",
        ),
        (z(5, 7).bool().to("meta"), ArgumentError, "graph must be on the device of query, cpu; got meta"),
    ],
)
def test_graphs_that_do_not_fit_are_told(graph: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call(z(2, 4, 5, 8), z(2, 2, 7, 8), z(2, 2, 7, 8), graph)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"scale": float("nan")}, ArgumentError, "scale must be a finite number, like width ** -0.5; got nan"),
        (
            {"soft_cap": 0.0},
            ArgumentError,
            "soft_cap must be a positive number, the largest size a score may reach; got 0.0",
        ),
        (
            {"dropout": 1.0},
            ArgumentError,
            "dropout must be at least 0 and below 1, the share of weights to drop; got 1.0",
        ),
        (
            {"bias": z(5, 7).bool()},
            ArgumentError,
            "bias must be floating point, it is added to the scores; got torch.bool: a mask is given as graph=",
        ),
        (
            {"bias": z(3, 5, 7)},
            ShapeError,
            "bias must broadcast to the scores (…, query=5, key=7) = (2, 4, 5, 7); got (3, 5, 7)",
        ),
        ({"sinks": z(2)}, ShapeError, "sinks must be (heads=4,), one logit a query head; got (2,)"),
        ({"sinks": z(4).long()}, ArgumentError, "sinks must be floating point; got torch.int64"),
    ],
)
def test_numbers_that_cannot_be_used_are_told(more: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call(z(2, 4, 5, 8), z(2, 2, 7, 8), z(2, 2, 7, 8), **more)
    assert str(caught.value) == message


def test_a_graph_made_for_another_number_of_keys_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"is made for 6 keys; asked for key=7"):
        call(z(5, 8), z(7, 8), z(7, 8), documents([0, 0, 0, 1, 1, 1]))
