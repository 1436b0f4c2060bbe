"""The flex route, compiled: its values against the reference. Compiling takes seconds, so there are few cases."""

import shutil

import numpy as np
import pytest
import torch
from jaxtyping import config

from edgewise.attention import attend, reference, route_of
from edgewise.graphs import Graph, chunks, keys, window

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, raised while it compiles
    pytest.mark.skipif(shutil.which("g++") is None, reason="compiling flex_attention on a CPU needs g++"),
]


@pytest.fixture(autouse=True)
def _unchecked() -> object:
    # The shape checks of the tests are no part of what is compiled.
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    ("graph", "extras"),
    [
        (window(50) & chunks(128), {}),
        (window(50) | keys(np.arange(300) < 4), {"soft_cap": 5.0, "bias": torch.randn(4, 1, 300)}),
    ],
    ids=["window", "capped"],
)
def test_flex_agrees_with_the_reference(graph: Graph, extras: dict[str, object]) -> None:
    query, key, value = torch.randn(2, 4, 200, 64), torch.randn(2, 2, 300, 64), torch.randn(2, 2, 300, 64)
    assert route_of(query, key, value, graph, **extras, route="flex").why == "asked for"
    found = attend(query, key, value, graph, **extras, route="flex")
    torch.testing.assert_close(found, reference(query, key, value, graph, **extras).out)
