"""One line swapped, on every way of calling attention, against attention written out by hand: values and gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from edgewise import swap, trace
from edgewise.graphs import causal, full, window
from edgewise.tracing import Captured

HEADS, WIDTH, LENGTH = 4, 4, 6
FUTURE = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
CHOSEN = [1, 3]

Parts = tuple[Tensor, Tensor, Tensor]


class Layer(nn.Module):
    """Causal attention, computed in one of many ways from the same parameters."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.inner, self.way = nn.MultiheadAttention(HEADS * WIDTH, HEADS, batch_first=True), way

    def forward(self, x: Tensor) -> Tensor:
        if self.way.startswith("module"):
            weighs = self.way == "module, weights asked for"
            return self.inner(x, x, x, attn_mask=FUTURE, need_weights=weighs)[0]
        return self.project(WAYS[self.way](*self.parts(x)))

    def parts(self, x: Tensor) -> Parts:
        three = functional.linear(x, self.inner.in_proj_weight, self.inner.in_proj_bias)
        query, key, value = three.unflatten(-1, (3, HEADS, WIDTH)).permute(2, 0, 3, 1, 4)
        return query, key, value

    def project(self, out: Tensor) -> Tensor:
        return self.inner.out_proj(out.transpose(1, 2).flatten(2))


def written(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = (query @ key.mT * WIDTH**-0.5).masked_fill(FUTURE, -torch.inf).softmax(-1)
    return weights @ value


def einsum(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = torch.einsum("bhid,bhjd->bhij", query * WIDTH**-0.5, key) + torch.zeros(1).masked_fill(FUTURE, -1e9)
    return torch.einsum("bhij,bhjd->bihd", functional.softmax(scores, -1), value).transpose(1, 2)


def batched(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key, value = (one.flatten(0, 1) for one in (query, key, value))
    scores = torch.baddbmm(torch.zeros(1).masked_fill(FUTURE, -torch.inf), query, key.mT, alpha=WIDTH**-0.5)
    return torch.bmm(scores.softmax(-1), value).unflatten(0, (-1, HEADS))


def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def masked(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=~FUTURE)


def flexible(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    blocks = create_block_mask(lambda b, h, q, k: q >= k, None, None, LENGTH, LENGTH, device="cpu")
    return flex_attention(query, key, value, block_mask=blocks)


def grouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(query, key[:, :2], value[:, :2], is_causal=True, enable_gqa=True)


WAYS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "written by hand": written,
    "einsum": einsum,
    "baddbmm": batched,
    "scaled_dot_product_attention": fused,
    "scaled_dot_product_attention with a mask": masked,
    "flex_attention": flexible,
    "grouped": grouped,
}
WITH_GRADIENTS = [way for way in WAYS if way != "flex_attention"]  # which has none without a GPU
MODULES = ("module", "module, weights asked for")

VALUES = torch.linspace(-1, 1, 2 * LENGTH * WIDTH).reshape(2, LENGTH, WIDTH)


def sharpened(weights: Tensor) -> Tensor:
    return weights.square() / weights.square().sum(-1, keepdim=True)


CHANGES: dict[str, dict[str, Any]] = {
    "scores zeros": {"scores": "zeros"},
    "scores doubled": {"scores": lambda scores: 2 * scores},
    "no mask": {"mask": "none"},
    "a window": {"mask": causal() & window(2)},
    "a window by name": {"mask": "causal() & window(2)"},
    "booleans": {"mask": torch.eye(LENGTH, dtype=torch.bool)},
    "no scale": {"scale": 1.0},
    "values zeros": {"values": "zeros"},
    "values mean": {"values": "mean"},
    "values of a tensor": {"values": VALUES},
    "values turned": {"values": lambda values: values.flip(-1)},
    "weights sharpened": {"weights": sharpened},
    "weights of a tensor": {"weights": torch.full((LENGTH, LENGTH), 0.5)},
    "out zeros": {"out": "zeros"},
    "out mean": {"out": "mean"},
    "out of a function": {"out": lambda out: out * out},
    "scores zeros, no mask": {"scores": "zeros", "mask": "none"},
    "everything": {
        "mask": "none",
        "scale": 1.0,
        "scores": torch.tanh,
        "weights": sharpened,
        "values": lambda values: -values,
        "out": "mean",
    },
}


def by_hand(layer: Layer, x: Tensor, change: dict[str, Any]) -> Tensor:
    """The layer with a line changed in the chosen heads, written out."""
    query, key, value = layer.parts(x)
    if layer.way == "grouped":
        key, value = (one[:, :2].repeat_interleave(2, 1) for one in (key, value))
    plain = written(query, key, value)
    hidden = {None: FUTURE, "none": torch.zeros_like(FUTURE)}.get(mask := change.get("mask"))
    if hidden is None:
        hidden = ~mask if isinstance(mask, Tensor) else ~torch.ones_like(FUTURE).tril().triu(-1)
    scores = query @ key.mT * change.get("scale", WIDTH**-0.5)
    scores = changed(scores, change.get("scores"))
    weights = changed(scores.masked_fill(hidden, -torch.inf).softmax(-1), change.get("weights"))
    value = changed(value, change.get("values"))
    out = changed(weights @ value, change.get("out"))
    chosen = torch.zeros(HEADS, dtype=torch.bool).index_fill(0, torch.tensor(CHOSEN), True)[:, None, None]
    return layer.project(torch.where(chosen, out, plain))


def changed(stage: Tensor, by: Any) -> Tensor:
    if by is None:
        return stage
    if isinstance(by, Tensor):
        if by.dim() == 3:  # one for each chosen head
            by = torch.stack([by[CHOSEN.index(head)] if head in CHOSEN else by[0] for head in range(HEADS)])
        return by.expand_as(stage)
    if by == "zeros":
        return stage * 0
    return stage.mean((0, 2), keepdim=True).expand_as(stage) if by == "mean" else by(stage)


def gradients(out: Tensor, layer: nn.Module) -> list[Tensor]:
    found = torch.autograd.grad(out.square().sum(), list(layer.parameters()), allow_unused=True)
    return [torch.zeros_like(one) if got is None else got for one, got in zip(layer.parameters(), found, strict=True)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", [*WITH_GRADIENTS, *MODULES])
def test_a_line_is_swapped_as_if_it_had_been_written_so(way: str, change: str) -> None:
    layer, x = Layer(way), torch.randn(3, LENGTH, HEADS * WIDTH)
    with swap(layer, heads=CHOSEN, **CHANGES[change]) as done:
        out = layer(x)
        found = gradients(out, layer)
    assert sum(done.calls.values()) == 1
    wanted = by_hand(layer, x, CHANGES[change])
    torch.testing.assert_close(out, wanted)
    for one, other in zip(found, gradients(wanted, layer), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", ["written by hand", "scaled_dot_product_attention", "flex_attention", *MODULES])
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_a_line_is_swapped_without_gradients_and_on_the_fast_path(
    way: str, change: str, mode: Callable[[], torch.no_grad]
) -> None:
    layer, x = Layer(way).eval(), torch.randn(3, LENGTH, HEADS * WIDTH)
    with mode(), swap(layer, heads=CHOSEN, **CHANGES[change]):
        out = layer(x)
    with torch.no_grad():
        torch.testing.assert_close(out, by_hand(layer, x, CHANGES[change]))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_the_fast_path_of_an_encoder_layer_swaps_what_the_slow_one_does(change: str, norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(
        HEADS * WIDTH, HEADS, 32, dropout=0.0, batch_first=True, norm_first=norm_first
    ).eval()
    x = torch.randn(3, LENGTH, HEADS * WIDTH)
    with swap(layer, "*self_attn", heads=CHOSEN, **CHANGES[change]), trace(layer) as run:
        slow = layer(x, src_mask=FUTURE)
        with torch.no_grad():
            fast = layer(x, src_mask=FUTURE)
    assert [call.route.endswith("fast path") for call in run.calls] == [False, True]
    torch.testing.assert_close(fast, slow)
    assert (slow - layer(x, src_mask=FUTURE)).abs().max() > 1e-3


@pytest.mark.filterwarnings("ignore:.*nested tensors")
def test_a_whole_encoder_with_padding_swaps_on_both_paths() -> None:
    layer = nn.TransformerEncoderLayer(HEADS * WIDTH, HEADS, 32, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True).eval()
    x, padding = torch.randn(2, LENGTH, HEADS * WIDTH), torch.zeros(2, LENGTH, dtype=torch.bool)
    padding[1, 4:] = True
    with swap(model, 1, heads=[2], out="mean", scores="zeros"):
        slow = model(x, src_key_padding_mask=padding)
        with torch.no_grad():
            fast = model(x, src_key_padding_mask=padding)
    torch.testing.assert_close(fast.masked_fill(padding[..., None], 0), slow.masked_fill(padding[..., None], 0))


@pytest.mark.parametrize("way", [*WITH_GRADIENTS, *MODULES])
def test_with_nothing_swapped_not_a_bit_is_different(way: str) -> None:
    layer, x = Layer(way), torch.randn(3, LENGTH, HEADS * WIDTH)
    plain = layer(x)
    wanted = gradients(plain, layer)
    with swap(layer) as done:
        out = layer(x)
        found = gradients(out, layer)
    assert torch.equal(out, plain)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    assert list(done.calls.values()) == [1]


@pytest.mark.parametrize("way", [*WAYS, *MODULES])
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_heads_that_are_not_chosen_are_the_models_own_to_the_bit(way: str) -> None:
    layer, x = Layer(way), torch.randn(3, LENGTH, HEADS * WIDTH)
    before, after = captured(layer, x), captured(layer, x, heads=CHOSEN, scores=torch.sin)
    assert torch.equal(before.out[:, [0, 2]], after.out[:, [0, 2]])
    assert (before.out[:, CHOSEN] != after.out[:, CHOSEN]).any((0, 2, 3)).all()


@pytest.mark.parametrize("order", ["swap first", "trace first"])
def test_a_trace_shows_what_the_model_got_and_that_it_was_swapped(order: str) -> None:
    layer, x = Layer("scaled_dot_product_attention"), torch.randn(3, LENGTH, HEADS * WIDTH)
    if order == "swap first":
        with swap(layer, heads=[0], out="zeros"), trace(layer) as run:
            layer(x)
    else:
        with trace(layer) as run, swap(layer, heads=[0], out="zeros"):
            layer(x)
    (call,) = run.calls
    assert not call.out[:, 0].any()
    assert call.out[:, 1].any()
    assert call.checked.note == "not checked: swapped"
    assert run.record().calls[0].note == "not checked: swapped"


def captured(layer: nn.Module, x: Tensor, **change: Any) -> Captured:
    with torch.no_grad(), swap(layer, **change), trace(layer) as run:
        layer(x)
    return run.calls[0]


class TestSwapsWithinEachOther:
    def test_other_heads_add_up(self) -> None:
        layer, x = Layer("scaled_dot_product_attention"), torch.randn(3, LENGTH, HEADS * WIDTH)
        with swap(layer, heads=[1], scores="zeros"), swap(layer, heads=[3], scores="zeros"):
            out = layer(x)
        torch.testing.assert_close(out, by_hand(layer, x, {"scores": "zeros"}))

    def test_other_lines_of_the_same_heads_add_up(self) -> None:
        layer, x = Layer("written by hand"), torch.randn(3, LENGTH, HEADS * WIDTH)
        with swap(layer, heads=CHOSEN, scale=1.0), swap(layer, heads=CHOSEN, mask="none"):
            with swap(layer, heads=CHOSEN, out="mean"):
                out = layer(x)
            without = layer(x)
        torch.testing.assert_close(out, by_hand(layer, x, {"scale": 1.0, "mask": "none", "out": "mean"}))
        torch.testing.assert_close(without, by_hand(layer, x, {"scale": 1.0, "mask": "none"}))

    def test_the_same_line_is_swapped_by_each_in_turn_and_each_function_is_called_once(self) -> None:
        layer, x, calls = Layer("written by hand"), torch.randn(3, LENGTH, HEADS * WIDTH), []

        def told(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
            return lambda stage: (calls.append(name), change(stage))[1]

        with (
            swap(layer, heads=CHOSEN, out=told("first", lambda out: out + 1)),
            swap(layer, heads=CHOSEN, out=told("second", lambda out: 3 * out)),
        ):
            out = layer(x)
        assert calls == ["first", "second"]
        torch.testing.assert_close(out, by_hand(layer, x, {"out": lambda out: 3 * (out + 1)}))

    def test_a_part_and_the_whole_of_a_model(self) -> None:
        layer, x = nn.Sequential(Layer("written by hand"), Layer("written by hand")), torch.randn(3, LENGTH, 16)
        with swap(layer[1], heads=CHOSEN, out="zeros"), swap(layer, heads=CHOSEN, scale=1.0):
            out = layer(x)
        wanted = by_hand(layer[1], by_hand(layer[0], x, {"scale": 1.0}), {"out": "zeros"})
        torch.testing.assert_close(out, wanted)


class TestWeightsThatTheModelReturns:
    @pytest.mark.parametrize("gradients", [True, False])
    def test_they_are_those_that_were_used(self, gradients: bool) -> None:
        layer = nn.MultiheadAttention(16, HEADS, batch_first=True).eval()
        x = torch.randn(3, LENGTH, 16)
        mask = {"attn_mask": FUTURE}
        with torch.set_grad_enabled(gradients):
            before = layer(x, x, x, **mask, average_attn_weights=False)[1]
            with swap(layer, heads=CHOSEN, scores="zeros"):
                after = layer(x, x, x, **mask, average_attn_weights=False)[1]
                averaged = layer(x, x, x, **mask)[1]
                single = layer(x[0], x[0], x[0], **mask, average_attn_weights=False)[1]
        uniform = torch.ones(LENGTH, LENGTH).tril() / torch.arange(1, LENGTH + 1)[:, None]
        torch.testing.assert_close(after[:, CHOSEN], uniform.expand(3, 2, -1, -1))
        torch.testing.assert_close(after[:, [0, 2]], before[:, [0, 2]])
        torch.testing.assert_close(averaged, after.mean(1))
        torch.testing.assert_close(single, after[0])

    @pytest.mark.parametrize("change", [{"out": "zeros"}, {"values": "mean"}])
    def test_they_are_the_same_where_only_values_or_outputs_are_swapped(self, change: dict[str, Any]) -> None:
        layer, x = nn.MultiheadAttention(16, HEADS, batch_first=True), torch.randn(3, LENGTH, 16)
        before = layer(x, x, x)[1]
        with swap(layer, **change):
            assert torch.equal(layer(x, x, x)[1], before)


def test_dropout_is_drawn_for_swapped_heads_and_the_models_own_draws_stay() -> None:
    layer, x = Layer("scaled_dot_product_attention"), torch.randn(3, LENGTH, HEADS * WIDTH)
    WAYS["dropped"] = lambda *three: functional.scaled_dot_product_attention(*three, dropout_p=0.5, is_causal=True)
    try:
        layer.way = "dropped"
        torch.manual_seed(3)
        before, then = layer(x), torch.rand(3)
        outs = []
        for _ in range(2):
            torch.manual_seed(3)
            with swap(layer, heads=CHOSEN, scale=1.0), trace(layer) as run:
                layer(x)
            assert torch.equal(torch.rand(3), then)
            outs.append(run.calls[0].out)
        torch.manual_seed(3)
        with trace(layer) as run:
            assert torch.equal(layer(x), before)
    finally:
        del WAYS["dropped"]
    assert torch.equal(*outs)
    assert torch.equal(run.calls[0].out[:, [0, 2]], outs[0][:, [0, 2]])
    assert not outs[0][:, CHOSEN, 0].all()  # the first query has one key: dropped, it takes home nothing


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_every_dtype_stays_itself(dtype: torch.dtype) -> None:
    layer = Layer("scaled_dot_product_attention").to(dtype)
    x = torch.randn(3, LENGTH, HEADS * WIDTH, dtype=dtype)
    with swap(layer, heads=CHOSEN, scores=lambda scores: 2 * scores, values="mean"):
        out = layer(x)
    assert out.dtype == dtype
    wanted = by_hand(layer, x, {"scores": lambda scores: 2 * scores, "values": "mean"})
    torch.testing.assert_close(out, wanted, rtol=0.05, atol=0.01)


@pytest.mark.parametrize("way", ["written by hand", "scaled_dot_product_attention", *MODULES])
def test_autocast_goes_on_around_a_swap(way: str) -> None:
    layer, x = Layer(way), torch.randn(3, LENGTH, HEADS * WIDTH)
    with torch.autocast("cpu", torch.bfloat16), swap(layer, heads=CHOSEN, scores="zeros"):
        out = layer(x)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), by_hand(layer, x, {"scores": "zeros"}), rtol=0.05, atol=0.02)


def test_a_compiled_model_is_swapped_and_is_compiled_afterwards() -> None:
    layer, x = Layer("written by hand"), torch.randn(3, LENGTH, HEADS * WIDTH)
    fast = torch.compile(layer, backend="eager")
    before = fast(x)
    with swap(fast, heads=CHOSEN, scores="zeros"):
        out = fast(x)
    torch.testing.assert_close(out, by_hand(layer, x, {"scores": "zeros"}))
    torch.testing.assert_close(fast(x), before)


def test_a_function_is_swapped_as_whatever_runs_meanwhile() -> None:
    layer, x = Layer("scaled_dot_product_attention"), torch.randn(3, LENGTH, HEADS * WIDTH)

    def run(x: Tensor) -> Tensor:
        return layer(x)

    with swap(run, heads=CHOSEN, scores="zeros") as done:
        out = run(x)
    assert done.calls == {"run": 1}
    torch.testing.assert_close(out, by_hand(layer, x, {"scores": "zeros"}))


def test_another_model_is_left_alone() -> None:
    mine, other = Layer("scaled_dot_product_attention"), Layer("scaled_dot_product_attention")
    x = torch.randn(3, LENGTH, HEADS * WIDTH)
    plain = other(x)
    with swap(mine, out="zeros"):
        mine(x)
        assert torch.equal(other(x), plain)


def test_everything_is_put_back_after_an_exception() -> None:
    layer, x = Layer("written by hand"), torch.randn(3, LENGTH, HEADS * WIDTH)
    plain, function = layer(x), functional.scaled_dot_product_attention

    def fail(weights: Tensor) -> Tensor:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"), swap(layer, weights=fail):
        layer(x)
    assert functional.scaled_dot_product_attention is function
    assert torch.equal(layer(x), plain)


def test_queries_without_any_key_are_computed_as_before() -> None:
    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=FUTURE.mT.flip(0) & ~FUTURE)

    layer, x = Layer("scaled_dot_product_attention with a mask"), torch.randn(3, LENGTH, HEADS * WIDTH)
    WAYS[layer.way], real = attention, WAYS[layer.way]
    try:
        plain = layer(x)
        with swap(layer, scores=lambda scores: scores):
            torch.testing.assert_close(layer(x), plain)
    finally:
        WAYS[layer.way] = real


def test_a_graph_is_drawn_for_every_pair_of_lengths() -> None:
    layer, x = Layer("scaled_dot_product_attention"), torch.randn(3, LENGTH, HEADS * WIDTH)
    with swap(layer, mask=full()):
        layer(x), layer(x[:, :3])


def test_gradients_reach_tensors_that_are_handed_over() -> None:
    layer, x = Layer("written by hand"), torch.randn(3, LENGTH, HEADS * WIDTH)
    values, out = torch.randn(2, LENGTH, WIDTH, requires_grad=True), torch.randn(2, 1, WIDTH, requires_grad=True)
    with swap(layer, heads=[0], values=values[:1]), swap(layer, heads=CHOSEN, out=out):
        found = torch.autograd.grad(layer(x).square().sum(), (values, out))
    assert all(bool(one.any()) for one in found)
    assert not found[0][1].any()


def test_layers_that_are_run_again_for_their_gradients_are_swapped_again() -> None:
    layer, x = Layer("written by hand"), torch.randn(3, LENGTH, HEADS * WIDTH)
    with swap(layer, heads=CHOSEN, scores="zeros") as done:
        wanted = gradients(layer(x), layer)
        found = gradients(torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False), layer)
    assert sum(done.calls.values()) == 3
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
