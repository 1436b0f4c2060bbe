"""A trace that keeps statistics: of every call, without the calls."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import causal
from edgewise.records import Statistics
from edgewise.tracing import record, statistics, trace


class Layer(nn.Module):
    """Causal self-attention in which 4 query heads read 2 key-value heads."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.mix = nn.Linear(8, 32), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.project(x).split([16, 8, 8], -1)
        query, key, value = (one.unflatten(-1, (-1, 4)).transpose(1, 2) for one in (query, key, value))
        out = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return x + self.mix(out.transpose(1, 2).flatten(2))


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(Layer(), Layer())


def x(rows: int = 40) -> Tensor:
    return torch.randn(2, rows, 8, generator=torch.Generator().manual_seed(rows))


def assert_equal(one: Statistics, other: Statistics) -> None:
    for name, array in one.arrays.items():
        np.testing.assert_allclose(array, other.arrays[name], rtol=1e-5, atol=1e-5, err_msg=name)


def test_statistics_are_kept_by_site_and_calls_are_not() -> None:
    with trace(model(), keep="statistics") as run:
        run_out = model()(x())
    assert run.statistics == {}
    assert run.calls == []
    layers = model()
    with trace(layers, keep="statistics") as run:
        layers(x())
    assert list(run.statistics) == ["0", "1"]
    assert run.statistics["1"].shape == (2, 4, 40)
    assert run.calls == []
    assert run_out.shape == (2, 40, 8)


def test_statistics_are_those_of_the_captured_calls() -> None:
    layers = model()
    with trace(layers, keep="both") as run:
        layers(x())
    for call in run.calls:
        assert_equal(run.statistics[call.site.name], statistics(call.query, call.key, causal()))


def test_the_model_computes_what_it_always_does_and_gradients_flow() -> None:
    layers, given = model(), x().requires_grad_()
    plain = layers(given)
    (wanted,) = torch.autograd.grad(plain.square().sum(), given)
    with trace(layers, keep="statistics"):
        seen = layers(given)
    (found,) = torch.autograd.grad(seen.square().sum(), given)
    assert torch.equal(plain, seen)
    assert torch.equal(wanted, found)


def test_some_heads_and_rows_of_some_sites_are_measured_alone() -> None:
    layers = model()
    with trace(layers, keep="statistics") as whole:
        layers(x())
    with trace(layers, keep="statistics", sites="1", heads=[1, 2], rows=[0, -1, 39, 7]) as run:
        layers(x())
    assert list(run.statistics) == ["1"]
    assert_equal(run.statistics["1"], whole.statistics["1"].part([1, 2], [0, 7, 39]))


def test_rows_of_later_calls_follow() -> None:
    layers = model()
    with trace(layers, keep="statistics") as run:
        layers(x(5))
        layers(x(9))
    assert run.statistics["0"].shape == (2, 4, 14)


def test_calls_of_other_batches_do_not_follow() -> None:
    layers = model()
    with trace(layers, keep="statistics") as run:
        layers(x())
        layers(x()[:1])
    with pytest.raises(ShapeError, match=r"got \(2, 4\) and \(1, 4\)"):
        _ = run.statistics


def test_cross_attention_has_no_distances() -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    with trace(layer, keep="statistics") as run:
        layer(x(5), x(12))
    found = run.statistics["multihead_attn"]
    assert found.shape == (2, 2, 5)
    assert np.isnan(found.distance).all()
    assert np.isnan(found.own).all()
    assert (found.entropy > 0).all()
    assert (found.where < 12).all()
    assert not np.isnan(run.statistics["self_attn"].distance).any()


def test_statistics_agree_with_a_tiny_gpt_2_that_writes_its_weights_out() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=64, n_positions=64, n_embd=24, n_layer=2, n_head=3)
    gpt = transformers.GPT2LMHeadModel(config).eval()
    tokens = torch.randint(0, 64, (2, 50), generator=torch.Generator().manual_seed(1))
    present = torch.ones(2, 50, dtype=torch.long)
    present[1, :20] = 0
    with trace(gpt, keep="statistics") as run:
        gpt(tokens, attention_mask=present)
    gpt.set_attn_implementation("eager")
    weights = gpt(tokens, attention_mask=present, output_attentions=True).attentions
    assert list(run.statistics) == ["transformer.h.0.attn", "transformer.h.1.attn"]
    for found, dense in zip(run.statistics.values(), weights, strict=True):
        real = present.bool()[:, None].expand(2, 3, 50).numpy()  # rows of padding see nothing, or in eager everything
        wanted = -torch.special.xlogy(dense, dense).sum(-1)
        np.testing.assert_allclose(found.entropy[real], wanted.detach().numpy()[real], atol=1e-5)
        np.testing.assert_allclose(found.largest[real], dense.amax(-1).detach().numpy()[real], atol=1e-6)
        first = torch.stack([dense[0, ..., 0], dense[1, ..., 20]]).detach().numpy()
        np.testing.assert_allclose(found.first[real], first[real], atol=1e-6)


def test_generation_gives_the_rows_of_the_whole_text() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=64, n_positions=64, n_embd=24, n_layer=1, n_head=3, eos_token_id=None)
    gpt = transformers.GPT2LMHeadModel(config).eval()
    tokens = torch.randint(0, 64, (1, 7), generator=torch.Generator().manual_seed(1))
    with trace(gpt, keep="statistics") as run:
        text = gpt.generate(tokens, max_new_tokens=6, do_sample=False, pad_token_id=0)
    with trace(gpt, keep="statistics") as whole:
        gpt(text[:, :-1])
    assert_equal(run.statistics["transformer.h.0.attn"], whole.statistics["transformer.h.0.attn"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "all"}, r'keep must be "calls", "statistics" or "both"; got \'all\''),
        ({"keep": "statistics", "out": "x.edgewise"}, 'out is a file of calls; got out and keep="statistics"'),
    ],
)
def test_mistakes_in_what_to_keep_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message), trace(model(), **options):
        pass


def test_what_was_not_kept_is_not_given() -> None:
    layers = model()
    with trace(layers) as run:
        layers(x())
    with pytest.raises(ArgumentError, match='statistics are not kept; trace with keep="statistics" or keep="both"'):
        _ = run.statistics
    with trace(layers, keep="statistics") as run:
        layers(x())
    with pytest.raises(ArgumentError, match='a record is made of calls, which are not kept; trace with keep="both"'):
        run.record()
    with pytest.raises(ArgumentError, match="a record is made of calls"):
        record(layers, x(), keep="statistics")
