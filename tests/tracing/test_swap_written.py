"""Swapping in attention that is written by hand: every way of writing that is found, and every rung of the ladder."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise import swap, trace
from edgewise.errors import TraceError
from edgewise.graphs import full
from edgewise.ladder import RUNGS, Size, rung


def _load(name: str) -> Any:
    # Tests are not a package: what is written by hand is taken from the files beside this one.
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


patterns, written = _load("test_written_patterns"), _load("test_written")
ATTENDING = [one.name for one in RUNGS if one.name not in ("bigram", "split", *written.AVERAGING)]


def same(stage: Tensor) -> Tensor:
    return stage


def numbers(model: nn.Module, *inputs: Tensor) -> list[Tensor]:
    """What a model gives, and the gradients of its parameters."""
    out = model(*inputs)
    wanted = [one for one in model.parameters() if one.requires_grad]
    found = torch.autograd.grad(out.float().square().sum(), wanted, allow_unused=True)
    return [out, *(torch.zeros_like(one) if got is None else got for one, got in zip(wanted, found, strict=True))]


@pytest.mark.parametrize("name", patterns.PATTERNS)
def test_every_line_swapped_for_itself_gives_the_same_however_it_is_written(name: str) -> None:
    model = patterns.Model(patterns.PATTERNS[name][0])
    x = torch.randn(patterns.BATCH, patterns.LENGTH, patterns.HEADS * patterns.WIDTH)
    plain = numbers(model, x)
    with swap(model, scores=same, weights=same, values=same, out=same):
        again = numbers(model, x)
    with swap(model, values=same):
        fused = numbers(model, x)
    for one, other, third in zip(plain, again, fused, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=2e-5)
        torch.testing.assert_close(third, one, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", patterns.NONE)
def test_where_attention_is_not_understood_swapping_it_is_an_error_that_says_why(name: str) -> None:
    told, why = patterns.NONE[name]
    model = patterns.Model(told)
    x = torch.randn(patterns.BATCH, patterns.LENGTH, patterns.HEADS * patterns.WIDTH)
    says = "swap must replace every call at the sites that it names; at Model"
    with pytest.raises(TraceError, match=says) as error, swap(model, scores="zeros"):
        model(x)
    assert why in str(error.value)


def built(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    size = Size(vocabulary=65, heads=1 if name in ("attend", *written.ATTENDING) else 2, layers=1)
    tokens = torch.randint(65, (3, 8))
    return rung(name).build(size), (tokens, torch.randint(65, (3, 5))) if name == "cross" else (tokens,)


@pytest.mark.parametrize("name", ATTENDING)
def test_a_rung_whose_lines_are_swapped_for_themselves_is_the_rung(name: str) -> None:
    model, inputs = built(name)
    model.eval()
    plain = numbers(model, *inputs)
    with swap(model, scores=same, values=same) as done:
        again = numbers(model, *inputs)
    assert done.calls
    for one, other in zip(plain, again, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=3e-6 * max(1.0, float(one.detach().abs().max())))


@pytest.mark.parametrize("name", ATTENDING)
def test_a_rung_with_scores_of_zero_takes_averages(name: str) -> None:
    model, inputs = built(name)
    with torch.no_grad(), trace(model) as run, swap(model, scores="zeros"):
        model(*inputs)
    for call in run.calls:
        edges = torch.from_numpy(call.graph.dense(call.query.shape[2], call.key.shape[2])).float()
        torch.testing.assert_close(call.out, edges / edges.sum(-1, keepdim=True) @ call.value)


def test_the_scale_of_one_rung_is_the_line_of_another() -> None:
    # The rung `scale` is the rung `values` with one line more: with that line's number back at 1 it is the one before.
    after, before = (rung(name).build(Size(vocabulary=65)) for name in ("scale", "values"))
    before.load_state_dict(after.state_dict())
    tokens = torch.randint(65, (3, 8))
    with swap(after, scale=1.0):
        torch.testing.assert_close(after(tokens), before(tokens))


def test_the_mask_of_one_rung_is_the_line_of_another() -> None:
    causal, everything = (rung(name).build(Size(vocabulary=65)) for name in ("scale", "encoder"))
    everything.load_state_dict(causal.state_dict())
    tokens = torch.randint(65, (3, 8))
    for mask in ("none", full(), torch.ones(8, 8, dtype=torch.bool)):
        with swap(causal, mask=mask):
            torch.testing.assert_close(causal(tokens), everything(tokens))


def test_the_head_of_the_lecture_without_its_mask_and_its_scale() -> None:
    head, x = written.Lecture(24, 6, 16).eval(), torch.randn(2, 12, 24)
    with swap(head, mask="none", scale=1.0):
        out = head(x)
        found = torch.autograd.grad(out.sum(), head.value.weight)[0]
    weights = functional.softmax(head.query(x) @ head.key(x).mT, -1)
    wanted = weights @ head.value(x)
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(found, torch.autograd.grad(wanted.sum(), head.value.weight)[0])


def test_a_head_of_a_gpt_by_hand_is_one_that_is_not_mixed_in() -> None:
    model, x = nn.Sequential(written.Folded(24, 4, 16), written.Folded(24, 4, 16)), torch.randn(2, 12, 24)
    with swap(model, "1", heads=[-1], out="zeros"):
        out = model(x)
    model[1].mix.weight.data[:, 18:] = 0
    torch.testing.assert_close(out, model(x))


def test_a_cache_of_ours_generates_as_one_pass_does() -> None:
    model = rung("gpt").build(Size(vocabulary=65, heads=2, layers=2)).eval()
    tokens = torch.randint(65, (1, 8))
    with torch.no_grad(), swap(model, 1, heads=[1], scores="zeros"):
        whole = model(tokens)
        cache = model.new_cache()
        steps = [model(tokens[:, :5], cache), *(model(tokens[:, at : at + 1], cache) for at in range(5, 8))]
    torch.testing.assert_close(torch.cat(steps, 1), whole)


def test_a_product_that_an_object_holds_is_swapped_where_no_gradients_are_wanted_and_refused_where_they_are() -> None:
    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.product = nn.Linear(8, 24), torch.matmul

        def forward(self, x: Tensor) -> Tensor:
            query, key, value = self.linear(x).chunk(3, -1)
            return self.product((query @ key.mT).softmax(-1), value)

    model, x = Held(), torch.randn(2, 5, 8)
    with torch.no_grad(), swap(model, out="zeros"):
        assert not model(x).any()
    says = r"swap under torch\.no_grad\(\), or write weights @ values"
    with pytest.raises(TraceError, match=says), swap(model, out="zeros"):
        model(x)
