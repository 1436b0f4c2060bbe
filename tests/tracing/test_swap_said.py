"""What swap says where it is asked for what it cannot do: nothing that was named stays as it was in silence."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import AuxRequest, flex_attention

from edgewise import swap
from edgewise.errors import ArgumentError, ShapeError, TraceError


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(3))

    def forward(self, x: Tensor, layers: int = 3) -> Tensor:
        for layer in self.layers[:layers]:
            x = layer(x, x, x, need_weights=False)[0]
        return x


X = torch.randn(2, 5, 8)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"sites": "layer.1"},
            'a site must be the path of a module, a pattern that fits one, the number of a layer, "self" or "cross"; '
            "got 'layer.1', which fits none of this model: did you mean 'layers.1'",
        ),
        ({"sites": ["layers.0", "*.self_attn"]}, "got '*.self_attn', which fits none of this model"),
        ({"sites": 1.5}, "sites must be names like"),
        (
            {"scores": "zero"},
            "scores must be \"zeros\", a tensor or a function of (batch, heads, query, key); got 'zero'",
        ),
        ({"weights": "zeros"}, "weights must be a tensor or a function of (batch, heads, query, key); got 'zeros'"),
        ({"values": 3}, 'values must be "zeros", "mean", a tensor or a function of (batch, heads, key, width); got 3'),
        ({"out": "median"}, 'out must be "zeros", "mean", a tensor or a function of (batch, heads, query, width)'),
        ({"scale": "one"}, "scale must be a finite number, 1.0 for none; got 'one'"),
        ({"scale": float("nan")}, "scale must be a finite number, 1.0 for none; got nan"),
        (
            {"mask": torch.zeros(5, 5)},
            'mask must be "none", a graph like causal(), or booleans (True = may attend); got torch.float32',
        ),
        ({"mask": 3}, "or booleans (True = may attend); got 3"),
        ({"mask": "nothing"}, "nothing"),
    ],
)
def test_a_wrong_argument_is_answered_before_the_model_runs(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError) as error, swap(Model(), **settings):
        pytest.fail("it ran")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("settings", "kind", "says"),
    [
        ({"heads": [2]}, ArgumentError, "heads must be from 0 to 1 at layers.0; got [2]"),
        ({"heads": []}, ArgumentError, "heads must be from 0 to 1 at layers.0; got []"),
        (
            {"values": lambda values: values[..., :1, :2]},
            ShapeError,
            "values must be (batch, heads, key, width) = (2, 2, 5, 4), or broadcast to it; got (2, 2, 1, 2)",
        ),
        (
            {"out": torch.zeros(3)},
            ShapeError,
            "out must be (batch, heads, query, width) = (2, 2, 5, 4), or broadcast to it; got (3,)",
        ),
        (
            {"scores": lambda scores: None},
            ArgumentError,
            "scores must be given a tensor (batch, heads, query, key) = (2, 2, 5, 5); got NoneType",
        ),
    ],
)
def test_what_does_not_fit_is_said_where_it_is_met(settings: dict[str, Any], kind: type[Exception], says: str) -> None:
    model = Model()
    with pytest.raises(kind) as error, swap(model, **{"scores": "zeros", **settings}):
        model(X)
    assert str(error.value) == says


def test_a_site_that_is_never_met_is_an_error_at_the_end() -> None:
    model = Model()
    says = (
        r"swap must meet a call of attention at 'layers\.2', and met none: there was attention at layers\.0, layers\.1$"
    )
    with pytest.raises(TraceError, match=says), swap(model, ["layers.1", "layers.2"], out="zeros"):
        model(X, layers=2)
    with pytest.raises(TraceError, match="at 7 or 'cross', and met none"), swap(model, [0, 7, "cross"], out="zeros"):
        model(X)


def test_a_model_that_never_ran_is_an_error_at_the_end() -> None:
    says = "at any site, and met none: no attention was seen while it lasted; run the model inside `with swap`"
    with pytest.raises(TraceError, match=says), swap(Model(), out="zeros"):
        pass


def test_an_error_of_the_model_is_not_hidden_by_ours() -> None:
    with pytest.raises(ZeroDivisionError), swap(Model(), out="zeros"):
        raise ZeroDivisionError


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_attention_that_must_give_the_logsumexp_as_well_is_not_swapped() -> None:
    def run(x: Tensor) -> Any:
        return flex_attention(x, x, x, return_aux=AuxRequest(lse=True))

    says = "asked for the logsumexp as well, which another output would not match"
    with pytest.raises(TraceError, match=says), swap(run, out="zeros"):
        run(torch.randn(1, 2, 16, 8))


def test_sites_are_chosen_by_name_pattern_layer_or_kind() -> None:
    model = Model()
    for sites, met in (("layers.1", [1]), ("layers.[02]", [0, 2]), (2, [2]), ("self", [0, 1, 2]), ([0, "*.1"], [0, 1])):
        with swap(model, sites, out="zeros") as done:
            model(X), model(X)
        assert done.calls == {f"layers.{layer}": 2 for layer in met}


def test_a_call_without_sites_in_a_function_is_named_after_it() -> None:
    def attention(x: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(x, x, x)

    with swap(attention, "attention", out="zeros") as done:
        assert not attention(torch.randn(1, 2, 5, 4)).any()
    assert done.calls == {"attention": 1}
