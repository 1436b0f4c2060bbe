import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.checks.layers import CHANNELS, Layer, filled, lab_of
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from edgewise.checks.finding import Skip
from edgewise.graphs import causal, full, window


def future(cells: Tensor) -> int:
    return int(cells.triu(1).sum())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("number", [-math.inf, -1e9, -1e4])
def test_a_mask_that_hides_leaves_the_future_still_to_the_last_bit(number, dtype):
    lab = lab_of(Layer(filled(number)).to(dtype))
    found = lab.influence(lab.plain)
    assert found.named == causal()
    assert (found.noise, found.disagree, found.mixed) == (0, (), 0)
    assert_close(found.gradient, found.moved)
    assert float(found.size.triu(1).max()) == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("number", [-1.0, -10.0, -20.0, -100.0, -300.0])
def test_a_mask_that_is_too_weak_is_seen_through(number, dtype):
    lab = lab_of(Layer(filled(number)).to(dtype))
    assert lab.influence(lab.plain).named == full()


def test_a_gradient_of_1e_minus_44_is_kept():
    lab = lab_of(Layer(filled(-100.0)).double())
    found = lab.influence(lab.plain)
    assert 0 < float(found.pull[0, 1]) < 1e-40


class RunningMean(nn.Module):
    """A mean over three tokens as the difference of two sums, which leaves rounding of all that went before."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(CHANNELS, CHANNELS)

    def forward(self, x: Tensor) -> Tensor:
        sums = self.linear(x).cumsum(1)
        return (sums - F.pad(sums, (0, 0, 3, 0))[:, :-3]) / 3


class Frequencies(nn.Module):
    """A causal convolution by way of Fourier, which rounds over the whole sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(64, CHANNELS))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        product = torch.fft.rfft(x, 2 * length, dim=1) * torch.fft.rfft(self.kernel[:length], 2 * length, dim=0)
        return torch.fft.irfft(product, 2 * length, dim=1)[:, :length]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("layer", "graph"), [(RunningMean, window(3)), (Frequencies, causal())])
def test_rounding_is_no_dependence(layer, graph, dtype):
    lab = lab_of(layer().to(dtype))
    for route in lab.where(dtype=None):
        found = lab.influence(route)
        assert (found.named, found.disagree) == (graph, ()), route


def test_a_maximum_that_all_share_is_no_dependence():
    def normalised(scores: Tensor) -> Tensor:
        keep = torch.ones_like(scores, dtype=torch.bool).tril()
        weights = (scores - scores.detach().amax()).exp() * keep
        return weights / weights.sum(-1, keepdim=True)

    lab = lab_of(Layer(normalised=normalised).double())
    found = lab.influence(lab.plain)
    assert (found.named, found.mixed) == (causal(), 0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_sees_what_the_model_sees(dtype):
    lab = lab_of(Layer(filled(-math.inf)))
    route = lab.where(dtype=dtype)[0]
    assert lab.influence(route).named == causal()
    lab = lab_of(Layer(filled(-10.0)))
    assert lab.influence(lab.where(dtype=dtype)[0]).named == full()


def test_a_tensor_cut_off_from_gradients_is_a_disagreement_and_a_dependence():
    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(CHANNELS, CHANNELS)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x) + x.detach().cumsum(1)

    lab = lab_of(Cut())
    found = lab.influence(lab.plain)
    assert found.named == causal()
    assert set(found.disagree) == {(query, token) for query in range(lab.length) for token in range(query)}


def test_rows_without_a_number_are_still_where_both_have_none():
    class Padded(Layer):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            keep = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril() & mask[:, None, None, :]
            self.masked = lambda scores: scores.masked_fill(~keep, -math.inf)
            return super().forward(x)

    lab = lab_of(Padded())
    route = lab.where(mask="left", batch=2, dtype=None)[0]
    found = lab.influence(route, row=1)
    expected = causal().dense(lab.length, lab.length)
    expected[:, :2] = False
    np.testing.assert_array_equal(found.moved.numpy(), expected)
    assert found.gradient is None


def test_rows_that_read_each_other_are_looked_at_one_by_one():
    lab = lab_of(nn.MultiheadAttention(CHANNELS, 4, batch_first=False).eval())
    found = lab.influence(lab.plain)
    assert found.named == window(1)
    assert found.mixed > 0.001
    assert lab.plain in lab.mixing


def test_a_row_whose_place_in_the_batch_matters_is_looked_at_in_its_place():
    class First(Layer):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            rows = torch.tensor([0, *range(len(mask) - 1)])
            self.masked = lambda scores: scores.masked_fill(~mask[rows, None, None, :], -math.inf)
            return super().forward(x)

    lab = lab_of(First())
    route = lab.where(mask="left", batch=2, dtype=None)[0]
    found = lab.influence(route, row=1)
    assert found.placed > 0.001
    assert found.named == full()
    assert (lab.mixing, lab.by_place) == (set(), {route})


def test_tokens_that_are_ids_are_exchanged():
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.layer = nn.Embedding(30, CHANNELS), Layer(filled(-math.inf))

        def forward(self, ids: Tensor) -> Tensor:
            return self.layer(self.embedding(ids))

    lab = lab_of(Model())
    found = lab.influence(lab.plain)
    assert found.named == causal()
    assert_close(found.gradient, found.moved)


def test_a_function_is_asked_by_values_keys_and_queries():
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        key = k.shape[-2]
        keep = torch.ones(q.shape[-2], key, dtype=torch.bool).tril(key - q.shape[-2])
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~keep, -math.inf)
        return scores.softmax(-1) @ v

    lab = lab_of(attention)
    given = lab.given(lab.plain)
    found = lab.influence(lab.plain, 0, given.replace(tokens=given.tokens[:, :, :3]))
    wanted = torch.from_numpy(causal().dense(3, lab.length))
    assert_close(found.moved, wanted)
    assert_close(found.keys, wanted)
    assert_close(found.queries, torch.eye(3, dtype=torch.bool))
    assert_close(found.heads, wanted.expand_as(found.heads))


def test_a_softmax_over_queries_makes_queries_depend_on_each_other():
    lab = lab_of(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v)
    assert bool(lab.influence(lab.plain).queries.all())


def test_memory_is_asked_of_like_tokens():
    class Reading(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(CHANNELS, 4, batch_first=True)

        def forward(self, x: Tensor, memory: Tensor) -> Tensor:
            return self.attention(x, memory, memory, need_weights=False)[0]

    lab = lab_of(Reading())
    found = lab.influence(lab.plain, of="memory")
    assert found.moved.shape == (lab.length, lab.given(lab.plain).memory.shape[1])
    assert bool(found.moved.all())
    lab = lab_of(Layer())
    with pytest.raises(Skip, match="it reads no memory"):
        lab.influence(lab.plain, of="memory")


class MaskForOnePrecision(nn.Module):
    """Attention whose mask is made in float32 out of the lowest number of another dtype: of float64 it is no number."""

    def __init__(self) -> None:
        super().__init__()
        self.projected, self.out = nn.Linear(CHANNELS, 3 * CHANNELS), nn.Linear(CHANNELS, CHANNELS)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = self.projected(x).chunk(3, dim=-1)
        scores = query @ key.mT / 4
        if mask is not None:
            bias = (1.0 - mask.float()[:, None]) * torch.finfo(x.dtype).min
            scores = scores + bias.to(x.dtype)
        return self.out(scores.softmax(-1) @ value)


def test_a_copy_in_float64_that_a_mask_spoils_does_not_speak_for_a_coarser_dtype():
    lab = lab_of(MaskForOnePrecision(), mask="mask:keep")
    route = replace(lab.plain, mask="left", batch=2, dtype="bfloat16")
    assert lab.out(lab.given(route), replace(route, dtype="float64")).isnan().any()
    assert lab.influence(route, row=1).moved[2:, 2:].all()
