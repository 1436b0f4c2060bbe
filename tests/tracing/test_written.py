"""Attention written by hand is found, explained, and not touched."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise.graphs import causal, full
from edgewise.ladder import Size, rung
from edgewise.tracing import Captured, record, trace

ATTENDING = ("scores", "values", "scale", "encoder")
AVERAGING = ("loop", "matmul", "softmax", "positions")


def built(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    tokens = torch.randint(65, (3, 8))
    return rung(name).build(Size(vocabulary=65)), (tokens,)


@pytest.mark.parametrize("name", ATTENDING)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_the_attention_of_a_rung_is_found(name: str, mode: Callable[[], torch.no_grad]) -> None:
    model, inputs = built(name)
    with mode():
        plain = model(*inputs)
        with trace(model, check="all") as run:
            seen = model(*inputs)
    assert torch.equal(plain, seen)
    (call,) = run.calls
    assert call.route == "written by hand"
    assert call.graph == (full() if name == "encoder" else causal())
    assert call.scale == pytest.approx(1.0 if name in ("scores", "values") else 32**-0.5)
    assert call.query.shape == (3, 1, 8, 32)
    assert call.residual < 1e-6


@pytest.mark.parametrize("name", AVERAGING)
def test_an_average_asks_nothing_and_is_no_attention(name: str) -> None:
    model, inputs = built(name)
    with trace(model) as run:
        model(*inputs)
    assert run.calls == []
    assert run.unexplained == {}


def test_cross_attention_reads_the_other_sequence() -> None:
    model = rung("cross").build(Size(vocabulary=65))
    inputs = torch.randint(65, (3, 8)), torch.randint(65, (3, 5))
    found = record(model, inputs, gradients=True)
    assert found.calls[0].site.kind == "cross"
    assert found.calls[0].key.shape == (3, 1, 5, 32)
    assert found.proof.exact


class Lecture(nn.Module):
    """One head as it is taught: three projections, a mask, a softmax."""

    def __init__(self, channels: int, width: int, block: int) -> None:
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(channels, width, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(block, block)))
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        wei = self.dropout(functional.softmax(wei, dim=-1))
        return wei @ self.value(x)


class Folded(nn.Module):
    """The slow path of a GPT: fused projections, heads beside each other."""

    def __init__(self, channels: int, heads: int, block: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.mix = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.register_buffer("bias", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, channels = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, channels // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(channels, dim=2)
        )
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        out = functional.softmax(att, dim=-1) @ v
        return self.mix(out.transpose(1, 2).contiguous().view(batch, length, channels))


def only(model: nn.Module, x: Tensor) -> Captured:
    with trace(model, check="all") as run:
        model(x)
    (call,) = run.calls
    return call


def test_the_head_of_the_lecture_is_found_and_its_gradients_are_its_own() -> None:
    found = record(Lecture(24, 6, 16).eval(), torch.randn(2, 12, 24), gradients=True, check="all")
    assert found.proof.exact
    assert found.calls[0].graph == causal()
    assert found.calls[0].query.shape == (2, 1, 12, 6)


def test_dropout_is_seen_and_drawn_as_it_was() -> None:
    head, x = Lecture(24, 6, 16), torch.randn(2, 12, 24)
    torch.manual_seed(3)
    plain = head(x)
    torch.manual_seed(3)
    with trace(head) as run:
        seen = head(x)
    assert torch.equal(plain, seen)
    assert run.calls[0].dropout == 0.2


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 12])
def test_heads_are_told_from_sequences(batch: int, length: int) -> None:
    call = only(Folded(24, 4, 16), torch.randn(batch, length, 24))
    assert call.query.shape == (batch, 4, length, 6)
    assert call.graph == (causal() if length > 1 else full())


def test_a_gpt_by_hand_is_left_alone_to_the_bit() -> None:
    model = nn.Sequential(Folded(24, 4, 16), nn.Tanh(), Folded(24, 2, 16))
    found = record(model, torch.randn(2, 12, 24), gradients=True)
    assert found.proof.exact
    assert [site.name for site in found.sites] == ["0", "2"]


def test_a_layer_after_a_product_begins_anew_and_powers_without_their_sum_are_no_softmax() -> None:
    project, mix = nn.Linear(6, 9), torch.randn(2, 5, 9)

    def states(x: Tensor) -> Tensor:
        gathered = (x @ x.transpose(1, 2)) @ x  # linear attention
        decay = (x @ x.transpose(1, 2)).roll(1, 0).exp() @ x  # a state that decays
        return project(gathered + decay).softmax(-1) @ mix.transpose(1, 2)

    with torch.no_grad(), trace(states) as run:
        states(torch.randn(2, 5, 6))
    assert run.unexplained == {}
