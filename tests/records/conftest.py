"""Calls of attention made up for tests, beside the tensors that the reference is given."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from edgewise.attention import Stages, reference
from edgewise.graphs import Graph
from edgewise.records import Array, Call, Site

NAMES = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64"}


def held(tensor: Tensor) -> Array:
    """The numbers of a tensor, exactly."""
    if tensor.dtype == torch.bfloat16:
        return Array.of(tensor.contiguous().view(torch.uint16).numpy(), "bfloat16")
    return Array.of(tensor.contiguous().numpy())


@dataclass(frozen=True, eq=False)
class Pair:
    """One call twice: as a record's, and as the reference computes it."""

    call: Call
    stages: Stages


class Maker:
    """Makes calls."""

    def pair(
        self,
        batch: int = 2,
        heads: int = 4,
        groups: int = 2,
        query: int = 5,
        key: int = 7,
        width: int = 3,
        channels: int = 4,
        graph: Graph | Tensor | None = None,
        dtype: torch.dtype = torch.float32,
        *,
        bias: Tensor | None = None,
        sinks: bool = False,
        seed: int = 0,
        **more: Any,
    ) -> Pair:
        torch.manual_seed(seed)
        q = torch.randn(batch, heads, query, width).to(dtype)
        k, v = (torch.randn(batch, groups, key, size).to(dtype) for size in (width, channels))
        s = torch.randn(heads).to(dtype) if sinks else None
        scale = more.pop("scale", width**-0.5)
        edges = graph.expand(batch, heads, query, key) if isinstance(graph, Tensor) else graph
        stages = reference(q, k, v, edges, scale=scale, bias=bias, sinks=s, soft_cap=more.get("soft_cap"))
        if isinstance(graph, Tensor):
            more["allowed"] = Array.of(np.ascontiguousarray(graph.numpy()))
        elif graph is not None:
            more["graph"] = graph
        if bias is not None:
            more["bias"] = held(bias)
        if s is not None:
            more["sinks"] = held(s)
        site = more.pop("site", None) or Site("layers.0.attention", 0, "self", heads, groups, width)
        more = {"index": 0, "route": "made up", "dtype": NAMES[dtype]} | more
        return Pair(
            Call(site, query=held(q), key=held(k), value=held(v), out=held(stages.out), scale=scale, **more), stages
        )

    def long(self, length: int, graph: Graph, width: int = 8) -> Call:
        """A call of one head over a long text, without the reference's whole matrix."""
        drawn = np.random.default_rng(0).standard_normal((4, 1, 1, length, width), dtype=np.float32)
        site = Site("layers.0.attention", 0, "self", 1, 1, width)
        return Call(site, 0, "made up", *map(Array.of, drawn), 1.0, graph)

    def call(self, *given: Any, **more: Any) -> Call:
        return self.pair(*given, **more).call


@pytest.fixture(scope="session")
def make() -> Maker:
    """What makes calls."""
    return Maker()
