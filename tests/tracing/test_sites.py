"""Which module is running, and whether it reads itself."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from edgewise.tracing import Captured, trace


class Asked(nn.Module):
    """Reads `states`, or what it is given under another name."""

    def __init__(self, **marks: Any) -> None:
        super().__init__()
        self.__dict__.update(marks)

    def forward(self, states: Tensor, key_value_states: Tensor | None = None, memory: Tensor | None = None) -> Tensor:
        other = next((one for one in (key_value_states, memory) if one is not None), states)
        return scaled_dot_product_attention(states, other, other)


class Pooled(nn.Module):
    """Reads a shortened form of what it is given."""

    def forward(self, states: Tensor) -> Tensor:
        short = states[:, ::2]
        return scaled_dot_product_attention(states, short, short)


class Nameless(nn.Module):
    """Does not call itself self."""

    def forward(this, states: Tensor) -> Tensor:  # noqa: N805
        return scaled_dot_product_attention(states, states, states)


class Helped(nn.Module):
    """Leaves attention to an object that is no module."""

    class Helper:
        def attend(self, states: Tensor) -> Tensor:
            return scaled_dot_product_attention(states, states, states)

    def forward(self, states: Tensor) -> Tensor:
        return self.Helper().attend(states)


def seen(model: nn.Module, *inputs: Tensor, **named: Tensor) -> Captured:
    with trace(model) as run:
        model(*inputs, **named)
    return run.calls[0]


X, OTHER = torch.ones(2, 6, 4), torch.ones(2, 6, 4)


@pytest.mark.parametrize(
    ("model", "named", "kind"),
    [
        (Asked(), {}, "self"),
        (Asked(), {"key_value_states": OTHER}, "cross"),
        (Asked(), {"memory": OTHER}, "cross"),
        (Asked(is_cross_attention=True), {}, "cross"),
        (Asked(is_cross_attention=False), {"memory": OTHER}, "self"),
        (Pooled(), {}, "self"),
        (Nameless(), {}, "self"),
    ],
)
def test_a_site_is_cross_where_its_module_is_given_something_else_to_read(
    model: nn.Module, named: dict[str, Tensor], kind: str
) -> None:
    assert seen(model, X, **named).site.kind == kind


@pytest.mark.parametrize("model", [Nameless(), Helped()])
def test_the_innermost_module_is_the_site_however_it_is_written(model: nn.Module) -> None:
    assert seen(nn.Sequential(nn.Identity(), model), X).site.name == "1"


def test_a_layer_s_number_is_its_own_or_the_first_of_its_path() -> None:
    blocks = nn.ModuleDict({"blocks": nn.ModuleList([Asked(), Asked(layer_idx=7)])})
    model = nn.Sequential(nn.Identity(), blocks["blocks"][1])
    assert seen(model, X).site.layer == 7
    assert seen(nn.Sequential(nn.Identity(), Asked()), X).site.layer == 1
    assert seen(Asked(), X).site.layer is None
