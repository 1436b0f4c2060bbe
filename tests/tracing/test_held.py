"""Attention that is reached by no global name: what modules hold, and what is hidden deeper."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise import swap, trace
from edgewise.errors import TraceError
from edgewise.graphs import causal

REAL = functional.scaled_dot_product_attention


class Projected(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 24)

    def parts(self, x: Tensor) -> Any:
        return self.linear(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)


class Own(Projected):
    def __init__(self) -> None:
        super().__init__()
        self.attend = REAL

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(*self.parts(x), is_causal=True)


class Part(Projected):
    def __init__(self) -> None:
        super().__init__()
        self.attend = partial(REAL, is_causal=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(*self.parts(x))


class OfClass(Projected):
    attend = staticmethod(REAL)

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(*self.parts(x), is_causal=True)


class Heir(OfClass):
    pass


class Default(Projected):
    def forward(self, x: Tensor, attend: Callable[..., Tensor] = REAL) -> Tensor:
        return attend(*self.parts(x), is_causal=True)


class InAList(Projected):
    def __init__(self) -> None:
        super().__init__()
        self.several = [REAL]

    def forward(self, x: Tensor) -> Tensor:
        return self.several[0](*self.parts(x), is_causal=True)


HELD = (Own, Part, OfClass, Heir)
HIDDEN = (Default, InAList)
MODES = (torch.enable_grad, torch.no_grad, torch.inference_mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [*HELD, *HIDDEN])
def test_it_is_captured_and_left_alone(kind: type[Projected], mode: Callable[[], torch.no_grad]) -> None:
    model, x = kind(), torch.randn(2, 6, 8)
    with mode():
        plain = model(x)
        with trace(model, check="all") as run:
            seen = model(x)
    assert torch.equal(plain, seen)
    (call,) = run.calls
    assert call.graph == causal()
    assert call.query.shape == (2, 2, 6, 4)
    assert call.residual < 1e-6
    assert run.unexplained == {}


@pytest.mark.parametrize("kind", HELD)
def test_what_a_module_holds_is_swapped_with_its_gradients_and_put_back(kind: type[Projected]) -> None:
    model, x = nn.Sequential(kind()), torch.randn(2, 6, 8)
    before = dict(vars(model[0])), dict(vars(kind)), dict(vars(OfClass))
    with swap(model, heads=[1], scores="zeros"):
        out = model(x)
        found = torch.autograd.grad(out.square().sum(), model[0].linear.weight)[0]
    assert (dict(vars(model[0])), dict(vars(kind)), dict(vars(OfClass))) == before
    query, key, value = model[0].parts(x)
    average = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None] @ value
    wanted = torch.stack([REAL(query, key, value, is_causal=True)[:, 0], average[:, 1]], 1)
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(found, torch.autograd.grad(wanted.square().sum(), model[0].linear.weight)[0])


@pytest.mark.parametrize("kind", HIDDEN)
def test_what_is_hidden_deeper_is_swapped_where_no_gradients_are_wanted(kind: type[Projected]) -> None:
    model, x = kind(), torch.randn(2, 6, 8)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode(), swap(model, heads=[0], out="zeros"):
            out = model(x)
            assert not out[:, 0].any()
            assert out[:, 1].any()
    says = "scaled_dot_product_attention is called by no name that can be watched .* swap under torch.no_grad"
    with pytest.raises(TraceError, match=says), swap(model, heads=[0], out="zeros"):
        model(x)


def test_a_head_that_is_not_swapped_needs_no_name() -> None:
    model, x = InAList(), torch.randn(2, 6, 8)
    with swap(model) as done:
        model(x).sum().backward()
    assert done.calls == {"InAList": 1}


def test_traces_that_end_in_the_order_they_began_put_back_what_was_held() -> None:
    model, x = Own(), torch.randn(2, 6, 8)
    one, other = trace(model), trace(model)
    runs = one.__enter__(), other.__enter__()
    model(x)
    one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert model.attend is REAL
    assert [len(run.calls) for run in runs] == [1, 1]
