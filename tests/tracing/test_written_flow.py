"""How attention that is written by hand is watched: nothing is kept, nothing is changed, an output can be replaced."""

import gc
import math
import threading
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from edgewise.attention import attend
from edgewise.errors import TraceError
from edgewise.graphs import causal
from edgewise.tracing import Attention, Run, Watch, trace, watched
from edgewise.tracing.routes.written import rules
from edgewise.tracing.routes.written.flow import Flow
from edgewise.tracing.routes.written.layout import Axes, axes_of, laid

FUTURE = torch.ones(6, 6).triu(1).bool()


class Model(nn.Module):
    def __init__(self, product: Callable[[Tensor, Tensor], Tensor] = lambda one, other: one @ other) -> None:
        super().__init__()
        self.qkv, self.mix, self.product = nn.Linear(8, 24), nn.Linear(8, 8), product

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (one.unflatten(-1, (2, 4)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        length = x.shape[1]
        weights = (q @ k.mT / 2).masked_fill(FUTURE[:length, :length], -torch.inf).softmax(-1)
        return self.mix(self.product(weights, v).transpose(1, 2).flatten(2))


def einsum_turned(weights: Tensor, value: Tensor) -> Tensor:
    return torch.einsum("bhij,bhjd->bihd", weights, value).transpose(1, 2)


def values_first(weights: Tensor, value: Tensor) -> Tensor:
    return (value.mT @ weights.mT).mT


PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "@": lambda one, other: one @ other,
    "matmul": lambda one, other: torch.matmul(one, other),
    "method": lambda one, other: one.matmul(other),
    "bmm": lambda one, other: torch.bmm(one.flatten(0, 1), other.flatten(0, 1)).unflatten(0, (-1, 2)),
    "einsum": einsum_turned,
    "values first": values_first,
}


def computed_by_us(attention: Attention, original: Callable[[], Tensor]) -> Tensor:
    attention.note = "swapped"
    return attend(**attention.arguments(), route="matmul")


def nothing(attention: Attention, original: Callable[[], Tensor]) -> Tensor:
    attention.note = "swapped"
    return torch.zeros_like(original())


def gradients(model: nn.Module, x: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(model(x).square().sum(), list(model.parameters())))


@pytest.mark.parametrize("product", PRODUCTS)
def test_another_output_reaches_the_model_with_its_gradients(product: str) -> None:
    model, x = Model(PRODUCTS[product]), torch.randn(3, 6, 8)
    wanted, plain = gradients(model, x), model(x)
    with watched(Watch(model, computed_by_us)):
        out, found = model(x), gradients(model, x)
    torch.testing.assert_close(out, plain)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert all(torch.equal(one, other) for one, other in zip(gradients(model, x), wanted, strict=True))


@pytest.mark.parametrize("product", PRODUCTS)
def test_an_output_of_zeros_leaves_the_bias_of_the_mix(product: str) -> None:
    model, x = Model(PRODUCTS[product]), torch.randn(3, 6, 8)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode(), watched(Watch(model, nothing)):
            assert torch.equal(model(x), model.mix.bias.expand(3, 6, 8))


def test_a_trace_around_a_swap_sees_what_the_model_got() -> None:
    model, x = Model(), torch.randn(3, 6, 8)
    with watched(Watch(model, nothing)), trace(model) as run:
        model(x)
    (call,) = run.calls
    assert not call.out.any()
    assert math.isnan(call.residual)
    assert call.checked.note == "not checked: swapped"


def test_two_traces_at_once_see_a_call_once_each() -> None:
    model, x = Model(), torch.randn(3, 6, 8)
    with trace(model) as one, trace(model) as other:
        model(x)
    assert len(one.calls) == len(other.calls) == 1


def test_another_model_s_attention_is_not_seen() -> None:
    model, other, x = Model(), Model(), torch.randn(3, 6, 8)
    with trace(model) as run:
        other(x)
    assert run.calls == []


def test_a_function_is_watched_whole() -> None:
    def attention(x: Tensor) -> Tensor:
        return (x @ x.mT).softmax(-1) @ x

    x = torch.randn(2, 5, 4)
    with trace(attention) as run:
        attention(x)
    assert run.calls[0].site.name == "attention"
    assert run.calls[0].query.shape == (2, 1, 5, 4)


def test_all_names_are_put_back_whatever_happens() -> None:
    before = [torch.matmul, torch.bmm, torch.einsum, Tensor.matmul, Tensor.__matmul__, Tensor.bmm]
    model = Model(lambda one, other: one @ other[:, :, :1])
    with pytest.raises(RuntimeError), trace(model):
        model(torch.randn(3, 6, 8))
    assert [torch.matmul, torch.bmm, torch.einsum, Tensor.matmul, Tensor.__matmul__, Tensor.bmm] == before
    assert "matmul" not in vars(Tensor)
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_what_is_known_of_a_tensor_goes_when_the_tensor_goes() -> None:
    flow = Flow(rules.known, lambda meeting: meeting.out)
    with torch.no_grad(), flow:
        query = torch.randn(2, 5, 4)
        gone = weakref.ref(query)
        scores = query @ query.mT
        weights = (scores + 1).softmax(-1)
        assert flow.trail(weights) is not None
        del query, scores, weights
        torch.randn(2, 5, 4) @ torch.randn(2, 4, 5)
    gc.collect()
    assert gone() is None
    assert len(flow._seen) <= 1


def test_the_fast_path_of_multi_head_attention_is_taken_as_before() -> None:
    layer, x = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), torch.randn(2, 5, 8)
    with torch.no_grad():
        plain = layer(x)
        with trace(layer) as run:
            seen = layer(x)
    assert torch.equal(plain, seen)
    assert [call.route for call in run.calls] == ["torch: TransformerEncoderLayer, fast path"]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_scripted_attention_is_captured_and_replaced_where_no_gradients_are_wanted() -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * 0.5, -1), v)

    scripted = torch.jit.script(attention)
    q, k, v = torch.randn(3, 2, 3, 5, 4).unbind()
    with trace(scripted) as run:
        assert torch.equal(scripted(q, k, v), attention(q, k, v))
    assert run.calls[0].scale == 0.5
    with watched(Watch(scripted, nothing)):
        with torch.no_grad():
            assert not scripted(q, k, v).any()
        with pytest.raises(RuntimeError, match="TorchScript"):  # which keeps our words to itself
            scripted(q.requires_grad_(), k, v)


def test_a_product_held_by_an_object_is_captured_and_not_replaced_against_its_gradients() -> None:
    model, x = Model(torch.matmul), torch.randn(3, 6, 8)
    with trace(model) as run:
        model(x)
    assert run.calls[0].graph == causal()
    with watched(Watch(model, nothing)):
        with torch.no_grad():
            assert torch.equal(model(x), model.mix.bias.expand(3, 6, 8))
        with pytest.raises(
            TraceError,
            match=r"called by no name that can be watched .* swap under torch.no_grad\(\), or write weights @ values",
        ):
            model(x)


def test_a_thread_that_was_there_before_is_not_watched_and_not_disturbed() -> None:
    model, x, found = Model(), torch.randn(3, 6, 8), list[Tensor]()
    plain = model(x)
    with trace(model) as run:
        thread = threading.Thread(target=lambda: found.append(model(x)))
        thread.start()
        thread.join()
    assert torch.equal(found[0], plain)
    assert run.calls == []


def test_a_mistake_of_ours_is_said_and_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(flow: Flow, done: object) -> None:
        raise ValueError("nobody expected this")

    monkeypatch.setitem(rules._RULES, "_softmax", wrong)
    model, x = Model(), torch.randn(3, 6, 8)
    plain = model(x)
    with (
        pytest.warns(RuntimeWarning, match=r"edgewise could not follow _softmax \(ValueError: nobody expected this\)"),
        trace(model) as run,
    ):
        assert torch.equal(model(x), plain)
    assert run.calls == []


def test_where_nothing_was_understood_the_error_says_why() -> None:
    def attention(x: Tensor) -> Tensor:
        return (x @ x.mT).relu().softmax(-1) @ x

    with trace(attention) as run:
        attention(torch.randn(2, 5, 4))
    with pytest.raises(TraceError, match="attention: seen, not understood: they go through relu"):
        run.record()


def test_each_call_of_a_generation_is_seen_with_its_row() -> None:
    model, x = Model(), torch.randn(1, 6, 8)
    with trace(model) as run, torch.no_grad():
        for length in range(1, 4):
            model(x[:, :length])
    assert [call.query.shape for call in run.calls] == [(1, 2, length, 4) for length in range(1, 4)]
    assert run.calls[-1].graph == causal()


def test_what_is_looked_at_may_be_in_any_order() -> None:
    scores = torch.empty(2, 3, 5, 7)
    axes = Axes.of((2, 3, 5, 7), (105, 35, 7, 1))
    moved = scores.permute(0, 2, 1, 3).contiguous().permute(0, 2, 1, 3)
    layout = laid(moved, axes)
    assert axes_of(moved, layout) == axes
    merged = axes_of(moved.permute(0, 2, 1, 3).reshape(2, 15, 7), layout)
    assert merged is not None
    assert merged.parts == (((2, 105),), ((5, 7), (3, 35)), ((7, 1),))
    assert axes_of(moved[:, :, 1:], layout) == axes._replace(at=7, sizes=(2, 3, 4, 7), parts=(
        *axes.parts[:2], ((4, 7),), axes.parts[3]))  # fmt: skip
    assert axes_of(moved[:, :, ::2], layout) is not None
    assert (
        axes_of(
            scores.new_empty(9).as_strided((2, 2), (1, 2)), laid(moved[:, :, 0, :1], Axes.of((2, 3, 1), (105, 35, 0)))
        )
        is None
    )


def test_a_run_is_told_once_of_what_it_missed() -> None:
    def attention(x: Tensor) -> Tensor:
        for _ in range(3):
            x = (x @ x.mT).softmax(-2) @ x
        return x

    with trace(attention) as run:
        attention(torch.randn(2, 5, 4))
    assert isinstance(run, Run)
    assert list(run.unexplained) == ["attention"]
