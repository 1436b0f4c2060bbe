"""The cache: step by step is the same as all at once, whatever the steps and whatever happened in between."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import config

from edgewise.attention import KeyValueCache, attend, reference
from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import Graph, causal, chunks, prefix, window


def pieces(total: int) -> st.SearchStrategy[list[int]]:
    """Chunk lengths that add up to the whole, empty chunks among them."""
    cuts = st.lists(st.integers(0, total), max_size=6).map(sorted)
    return cuts.map(lambda at: [b - a for a, b in zip([0, *at], [*at, total], strict=True)])


@given(
    st.sampled_from([(causal(), None), (window(1), 1), (window(5), 5), (window(5), 9), (window(5), None)]),
    pieces(30),
    st.sampled_from([(1, 1), (2, 1), (1, 3), (2, 2)]),
    st.sampled_from(["auto", "matmul", "sdpa", "blocks"]),
    st.integers(0, 40),
)
def test_step_by_step_is_all_at_once(
    graph_and_window: tuple[Graph, int | None], steps: list[int], heads: tuple[int, int], route: str, capacity: int
) -> None:
    graph, held = graph_and_window
    groups, each = heads
    query = torch.randn(2, groups * each, 30, 4)
    key, value = torch.randn(2, groups, 30, 4), torch.randn(2, groups, 30, 6)
    cache = KeyValueCache(window=held, capacity=capacity)
    parts = zip(query.split(steps, -2), key.split(steps, -2), value.split(steps, -2), strict=True)
    found = [attend(q, *cache.append(k, v), graph, route=route) for q, k, v in parts]
    torch.testing.assert_close(torch.cat(found, -2), reference(query, key, value, graph).out)
    assert cache.position == 30


@pytest.mark.parametrize("graph", [chunks(4) & causal(), prefix(3)], ids=repr)
def test_graphs_of_absolute_positions_are_right_while_every_key_is_kept(graph: Graph) -> None:
    x = torch.randn(1, 2, 12, 4)
    cache = KeyValueCache()
    found = [attend(t, *cache.append(t, t), graph) for t in x.split(1, -2)]
    torch.testing.assert_close(torch.cat(found, -2)[..., 3:, :], reference(x, x, x, graph).out[..., 3:, :])


@given(pieces(20), st.integers(0, 20), st.sampled_from([None, 4]))
def test_cropping_forgets_as_if_it_had_never_been_read(steps: list[int], length: int, held: int | None) -> None:
    x = torch.randn(1, 20, 3)
    cache, fresh = KeyValueCache(window=held), KeyValueCache(window=held)
    for part in x.split(steps, -2):
        cache.append(part, part)
    dropped = cache.position - cache.length
    if held is not None and length - dropped < min(length, held - 1):
        with pytest.raises(ArgumentError, match="the window has dropped all before position"):
            cache.crop(length)
        return
    cache.crop(length)
    for part in x[:, :length].split(1, -2):
        fresh.append(part, part)
    assert cache.position == fresh.position == length
    after = torch.randn(1, 2, 3)
    query = torch.randn(1, 2, 3)
    graph = causal() if held is None else window(held)
    torch.testing.assert_close(
        attend(query, *cache.append(after, after), graph), attend(query, *fresh.append(after, after), graph)
    )


def test_reordering_puts_sequences_where_a_beam_wants_them() -> None:
    x = torch.randn(3, 2, 5, 4)
    cache = KeyValueCache()
    cache.append(x, -x)
    cache.reorder(torch.tensor([2, 2, 0, 1]))
    key, value = cache.append(x[[2, 2, 0, 1], :, :1], -x[[2, 2, 0, 1], :, :1])
    torch.testing.assert_close(key[:, :, :5], x[[2, 2, 0, 1]])
    torch.testing.assert_close(value, -key)
    KeyValueCache().reorder(torch.tensor([0]))  # nothing held, nothing to do


def test_reset_forgets_shape_and_position() -> None:
    cache = KeyValueCache()
    cache.append(torch.randn(2, 5, 4), torch.randn(2, 5, 4))
    cache.reset()
    assert (cache.length, cache.position) == (0, 0)
    key, _ = cache.append(torch.randn(7, 3, 2).double(), torch.randn(7, 3, 2).double())
    assert key.shape == (7, 3, 2)


def test_a_window_bounds_what_is_held_and_keeps_counting_positions() -> None:
    cache = KeyValueCache(window=10)
    for _ in range(1000):
        key, _ = cache.append(torch.zeros(1, 1, 4), torch.zeros(1, 1, 4))
    assert key.shape == (1, 10, 4)
    assert (cache.length, cache.position) == (10, 1000)
    assert cache._key is not None
    assert cache._key.shape[-2] < 200


@pytest.mark.parametrize("held", [None, 100])
def test_growing_copies_each_position_a_few_times_at_most(held: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = 0
    moved = KeyValueCache._moved

    def counted(self: KeyValueCache, buffer: torch.Tensor | None, like: torch.Tensor, size: int) -> torch.Tensor:
        nonlocal copied
        copied += 0 if buffer is None else self.length
        return moved(self, buffer, like, size)

    monkeypatch.setattr(KeyValueCache, "_moved", counted)
    cache = KeyValueCache(window=held)
    for _ in range(4000):
        cache.append(torch.zeros(1, 1), torch.zeros(1, 1))
    assert copied <= 2 * 2 * 4000


def test_capacity_is_room_from_the_start() -> None:
    cache = KeyValueCache(capacity=50)
    first, _ = cache.append(torch.zeros(1, 10, 2), torch.zeros(1, 10, 2))
    last, _ = cache.append(torch.zeros(1, 40, 2), torch.zeros(1, 40, 2))
    assert first.data_ptr() == last.data_ptr()


def test_what_is_held_has_no_gradient() -> None:
    x = torch.randn(1, 3, 2, requires_grad=True)
    key, value = KeyValueCache().append(x, x)
    assert not key.requires_grad
    assert not value.requires_grad


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 0}, "window must be at least 1 key, the query's own; got 0"),
        ({"capacity": -1}, "capacity must be at least 0 positions; got -1"),
    ],
)
def test_a_cache_that_cannot_be_is_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        KeyValueCache(**arguments)
    assert str(caught.value) == message


def test_keys_that_do_not_fit_are_told() -> None:
    config.update("jaxtyping_disable", True)  # the shape checks of the tests would speak first
    try:
        cache, x = KeyValueCache(), torch.zeros(2, 3, 4)
        with pytest.raises(ShapeError) as caught:
            cache.append(x, torch.zeros(2, 2, 4))
    finally:
        config.update("jaxtyping_disable", False)
    assert str(caught.value) == (
        "key and value must agree in all but width, (…, new, width); got (2, 3, 4) and (2, 2, 4)"
    )
    cache.append(x, x)
    with pytest.raises(ShapeError) as caught:
        cache.append(torch.zeros(1, 3, 4), torch.zeros(1, 3, 4))
    assert str(caught.value) == "key must be (2, new, 4) like those held; got (1, 3, 4): reset() first?"
    with pytest.raises(ArgumentError) as other:
        cache.append(x.double(), x.double())
    assert str(other.value) == "key must be torch.float32 on cpu like those held; got torch.float64 on cpu"


def test_cropping_further_than_read_is_refused() -> None:
    cache = KeyValueCache(window=3)
    for _ in range(9):
        cache.append(torch.zeros(1, 2), torch.zeros(1, 2))
    for length in (10, -1):
        with pytest.raises(ArgumentError) as caught:
            cache.crop(length)
        assert str(caught.value) == f"crop needs a length from 0 to 9, the positions read; got {length}"
    with pytest.raises(ArgumentError) as caught:
        cache.crop(7)
    assert str(caught.value) == (
        "crop(7) needs the 2 keys before position 7, and the window has dropped all before position 6: reset() and "
        "read again"
    )


def test_reordering_without_a_batch_is_refused() -> None:
    cache = KeyValueCache()
    cache.append(torch.zeros(3, 2), torch.zeros(3, 2))
    with pytest.raises(ShapeError) as caught:
        cache.reorder(torch.tensor([0]))
    assert "reorder needs keys with a batch axis first; got (" in str(caught.value)
