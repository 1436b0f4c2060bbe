"""The statistics of a call are those of the reference's weights, whatever the graph, and no matrix is ever held."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from edgewise.attention import reference
from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import Graph, causal, chunks, documents, full, keys, prefix, window
from edgewise.records import NEAR, Statistics
from edgewise.tracing import statistics

GRAPHS: dict[str, Graph | None] = {
    "everything": None,
    "full": full(),
    "causal": causal(),
    "window": window(37),
    "window with some ahead": window(20, ahead=9),
    "prefix": prefix(100),
    "chunks": causal() & chunks(70),
    "documents": causal() & documents(np.repeat(np.arange(4), 75)),
    "padding": causal() & keys(np.arange(300) >= 40),
    "first keys and a window": (window(30) | keys(np.arange(300) < 4)) & causal(),
    "a graph for each sequence": causal() & keys(np.arange(300) >= np.array([[3], [150]])),
    "no key at all": keys(np.zeros(300, bool)),
}


def tensors(query: int, key: int, heads: int = 4, groups: int = 2, width: int = 16) -> tuple[Tensor, Tensor]:
    drawn = torch.Generator().manual_seed(query + key)
    return (
        torch.randn(2, heads, query, width, generator=drawn) * 2,
        torch.randn(2, groups, key, width, generator=drawn),
    )


def plainly(query: Tensor, key: Tensor, graph: Graph | Tensor | None = None, **options: Any) -> dict[str, Tensor]:
    """The same numbers from whole matrices in float64."""
    options = {name: one.double() if isinstance(one, Tensor) else one for name, one in options.items()}
    stages = reference(query.double(), key.double(), key.double(), graph, **options)
    weights = stages.weights
    rows, columns = weights.shape[-2:]
    stands, to = torch.arange(rows)[:, None] + columns - rows, torch.arange(columns)
    apart, nobody = (stands - to).abs(), weights.sum(-1) == 0
    masked = stages.masked
    if options.get("sinks") is not None:
        sinks = options["sinks"][None, :, None, None].expand(*masked.shape[:3], 1)
        masked = torch.cat([masked, sinks], -1)
    first = torch.zeros(len(weights), dtype=torch.long)
    if rows == columns:
        first = stages.allowed.any(1).any(1).to(torch.uint8).argmax(-1)
    return {
        "log_sum_exp": masked.logsumexp(-1).masked_fill(nobody, -torch.inf),
        "entropy": -torch.special.xlogy(weights, weights).sum(-1),
        "largest": weights.amax(-1),
        "where": weights.argmax(-1).masked_fill(nobody, -1),
        "first": torch.stack([one[..., at] for one, at in zip(weights, first.tolist(), strict=True)]),
        "own": (weights * (apart == 0)).sum(-1),
        "previous": (weights * (stands - 1 == to)).sum(-1),
        "near": (weights * (apart <= NEAR)).sum(-1),
        "distance": ((weights * apart).sum(-1) / weights.sum(-1)).nan_to_num(0),
    }


def assert_same(found: Statistics, wanted: dict[str, Tensor], rtol: float = 1e-5, atol: float = 2e-5) -> None:
    arrays = found.arrays
    assert arrays.keys() == wanted.keys()
    for name, one in wanted.items():
        torch.testing.assert_close(
            torch.from_numpy(arrays[name]).double(),
            one.double(),
            rtol=rtol,
            atol=atol,
            msg=lambda m, n=name: f"{n}: {m}",
        )


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("option", ["plain", "bias", "soft cap", "sinks"])
def test_every_number_is_that_of_the_references_weights(name: str, option: str) -> None:
    query, key = tensors(300, 300)
    options: dict[str, Any] = {
        "plain": {},
        "bias": {"bias": torch.randn(4, 300, 300, generator=torch.Generator().manual_seed(1)), "scale": 0.1},
        "soft cap": {"soft_cap": 3.0},
        "sinks": {"sinks": torch.tensor([0.0, -3.0, 2.0, 8.0])},
    }[option]
    assert_same(statistics(query, key, GRAPHS[name], **options), plainly(query, key, GRAPHS[name], **options))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 5), (1, 400), (64, 700), (300, 40), (0, 5)])
@pytest.mark.parametrize("graph", [None, causal(), window(50)], ids=repr)
def test_rows_are_aligned_with_the_last_keys(rows: int, columns: int, graph: Graph | None) -> None:
    query, key = tensors(rows, columns)
    assert_same(statistics(query, key, graph), plainly(query, key, graph))


@pytest.mark.parametrize("graph", [causal(), full(), window(2200)], ids=repr)
def test_long_rows_are_summed_up_in_several_chunks(graph: Graph) -> None:
    query, key = tensors(2400, 2400, 1, 1)
    query, key = query[:1], key[:1]
    # Scores are off by rounding, and distances by that times the length.
    assert_same(statistics(query, key, graph), plainly(query, key, graph), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("shape", [(300, 300), (1, 1, 300, 300), (2, 1, 300, 300), (1, 4, 300, 300), (2, 4, 1, 300)])
def test_edges_given_as_booleans_are_followed(shape: tuple[int, ...]) -> None:
    query, key = tensors(300, 300)
    allowed = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.3
    allowed[..., :128, 100:] = False
    assert_same(statistics(query, key, allowed), plainly(query, key, allowed))


def test_a_bias_of_minus_infinity_takes_an_edge_away() -> None:
    query, key = tensors(100, 100)
    gone = torch.rand(100, 100, generator=torch.Generator().manual_seed(3)) < 0.5
    bias = torch.zeros(100, 100).masked_fill_(gone, -torch.inf)
    bias[7] = -torch.inf
    assert_same(statistics(query, key, bias=bias), plainly(query, key, bias=bias))


@pytest.mark.parametrize("scale", [40.0, -40.0])
def test_scores_that_exp_cannot_take_are_summed_relative_to_the_largest(scale: float) -> None:
    query, key = tensors(300, 300)
    assert float((query @ key.repeat_interleave(2, 1).mT).abs().max()) * 40 > 1000
    found, wanted = statistics(query, key, causal(), scale=scale), plainly(query, key, causal(), scale=scale)
    assert_same(found, wanted, rtol=1e-4, atol=5e-3)


def test_scores_of_a_forbidden_cell_may_be_anything() -> None:
    query, key = tensors(100, 100)
    graph = causal() & keys(np.arange(100) >= 3)
    wanted = statistics(query, key, graph)
    key[:, :, 0], key[:, :, 1], key[:, :, 2] = torch.nan, torch.inf, -torch.inf
    for name, array in statistics(query, key, graph).arrays.items():
        np.testing.assert_allclose(array, wanted.arrays[name], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype: torch.dtype) -> None:
    query, key = (one.to(dtype) for one in tensors(300, 300))
    found = statistics(query, key, causal())
    assert found.entropy.dtype == np.float32
    assert_same(found, plainly(query, key, causal()))


def test_float64_stays_float64() -> None:
    query, key = (one.double() for one in tensors(300, 300))
    found = statistics(query, key, causal())
    assert found.entropy.dtype == np.float64
    assert_same(found, plainly(query, key, causal()), rtol=1e-12, atol=1e-10)


def test_two_threads_and_one_give_the_same() -> None:
    query, key = tensors(800, 800)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(statistics(query, key, causal()))
    finally:
        torch.set_num_threads(before)
    for name, array in found[0].arrays.items():
        np.testing.assert_allclose(array, found[1].arrays[name], rtol=1e-6, atol=1e-6)


def test_the_first_of_several_largest_weights_is_named() -> None:
    x = torch.zeros(1, 1, 600, 8)
    assert not statistics(x, x, causal()).where.any()


def test_padding_before_the_text_is_not_its_first_token() -> None:
    x = torch.zeros(2, 1, 6, 8)
    found = statistics(x, x, causal() & keys(np.arange(6) >= np.array([[0], [4]])))
    np.testing.assert_allclose(found.first[:, 0, -1], [1 / 6, 1 / 2], rtol=1e-6)


class Sizes(TorchDispatchMode):
    """Remembers the largest tensor that any operation gives."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else (out,):
            if isinstance(one, Tensor):
                self.largest = max(self.largest, one.untyped_storage().nbytes())
        return out


def test_no_tensor_is_as_large_as_the_matrix() -> None:
    query = torch.randn(1, 1, 3000, 8, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # a mode sees the operations of its own thread
    try:
        with Sizes() as sizes:
            statistics(query, query, causal())
    finally:
        torch.set_num_threads(before)
    assert 1 << 18 < sizes.largest < 3000 * 3000 * 4 / 8


def test_forbidden_cells_are_not_computed() -> None:
    # Products are counted: of a window of 100 keys in 3,000, little more than the window.
    query = torch.randn(1, 1, 3000, 8, generator=torch.Generator().manual_seed(0))

    class Cells(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if "baddbmm" in str(func):
                self.count += out.numel()
            return out

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with Cells() as cells:
            statistics(query, query, window(100))
        few = cells.count
        with Cells() as cells:
            statistics(query, query, causal())
    finally:
        torch.set_num_threads(before)
    assert 3000 * 100 < few < 3000 * 300
    assert cells.count < 3000 * 3000 * 0.55


def test_rows_of_several_calls_follow_each_other() -> None:
    query, key = tensors(20, 20)
    whole = statistics(query, key, causal())
    steps = [statistics(query[:, :, at : at + 1], key[:, :, : at + 1], causal()) for at in range(20)]
    for name, array in steps[0].followed_by(*steps[1:]).arrays.items():
        np.testing.assert_allclose(array, whole.arrays[name], rtol=1e-5, atol=1e-5)


def test_statistics_of_other_heads_do_not_follow() -> None:
    one, other = (statistics(*tensors(4, 4, heads)) for heads in (2, 4))
    with pytest.raises(ShapeError, match=r"within the same \(batch, heads\); got \(2, 2\) and \(2, 4\)"):
        one.followed_by(other)


def test_some_heads_and_rows_can_be_taken() -> None:
    found = statistics(*tensors(9, 9), causal())
    assert found.part([1, 3], slice(2, 5)).shape == (2, 2, 3)
    np.testing.assert_array_equal(found.part([1, 3], [4]).entropy, found.entropy[:, [1, 3]][:, :, [4]])
    assert repr(found) == "Statistics(batch=2, heads=4, query=9)"
    assert found.nbytes == 2 * 4 * 9 * (8 * 4 + 8)


def test_arrays_of_different_shapes_are_refused() -> None:
    found = statistics(*tensors(9, 9), causal())
    with pytest.raises(ShapeError, match=r"of one shape; got entropy of \(2, 4, 8\) beside log_sum_exp of \(2, 4, 9\)"):
        Statistics(**{**found.arrays, "entropy": found.entropy[:, :, 1:]})


def test_mistakes_are_told() -> None:
    query, key = tensors(9, 9)
    with pytest.raises(ShapeError, match=r"query must be \(batch, heads, query, width\)"):
        statistics(query[0], key[0])
    with pytest.raises(ArgumentError, match="soft_cap must be a positive number"):
        statistics(query, key, soft_cap=-1.0)
