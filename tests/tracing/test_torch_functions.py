"""torch's own attention functions: every argument, every path, and nothing changed."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as imported_by_name

from edgewise.errors import TraceError
from edgewise.graphs import causal, full, keys, window
from edgewise.tracing import Captured, record, trace

HIDDEN = torch.tensor([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]], dtype=torch.bool)
FUTURE = torch.ones(6, 6, dtype=torch.bool).triu(1)
KEPT = keys(~HIDDEN.numpy())


class Heads(nn.Module):
    """Two heads of four around any function of attention."""

    def __init__(self, attention: Callable[..., Any], key: int | None = None) -> None:
        super().__init__()
        self.attention, self.key, self.project = attention, key, nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Any:
        query, key, value = self.project(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        return self.attention(query, key[:, :, : self.key], value[:, :, : self.key])


def seen(attention: Callable[..., Any], key: int | None = None, *, rows: int = 6) -> Captured:
    """The one call that a function of query, key and value makes; unchanged and explained, or the test fails."""
    model = Heads(attention, key)
    x = torch.randn(2, rows, 8)
    with torch.no_grad(), trace(model, check="all") as run:
        out = model(x)
    with torch.no_grad():
        torch.testing.assert_close(out, model(x), rtol=0, atol=0, equal_nan=True)
    assert len(run.calls) == 1
    run.record()
    return run.calls[0]


def sdpa(**settings: Any) -> Callable[..., Tensor]:
    return lambda query, key, value: functional.scaled_dot_product_attention(query, key, value, **settings)


def test_no_mask_is_the_full_graph() -> None:
    call = seen(sdpa())
    assert call.graph is full()
    assert call.scale == 0.5
    assert call.site.name == "Heads"


def test_a_function_imported_by_name_is_seen() -> None:
    assert seen(lambda q, k, v: imported_by_name(q, k, v)).graph is full()


def test_a_boolean_mask_says_who_may_attend() -> None:
    assert seen(sdpa(attn_mask=~FUTURE)).graph == causal()
    assert seen(sdpa(attn_mask=~HIDDEN[:, None, None])).graph == KEPT


def test_infinite_numbers_in_a_mask_are_missing_edges_and_finite_ones_a_bias() -> None:
    numbers = torch.linspace(-1, 1, 36).reshape(6, 6)
    call = seen(sdpa(attn_mask=numbers.masked_fill(FUTURE, -math.inf)))
    assert call.graph == causal()
    assert call.bias is not None
    torch.testing.assert_close(call.bias[0, 0].masked_fill(FUTURE, 0), numbers.masked_fill(FUTURE, 0))


def test_a_mask_of_each_head_is_kept_whole() -> None:
    mask = torch.stack([~FUTURE, torch.eye(6, dtype=torch.bool)])[None]
    call = seen(sdpa(attn_mask=mask))
    assert call.graph is None
    torch.testing.assert_close(call.allowed, mask)


def test_is_causal_with_fewer_keys_or_more_is_aligned_at_the_start_as_in_torch() -> None:
    assert seen(sdpa(is_causal=True)).graph == causal()
    fewer = seen(sdpa(is_causal=True), key=4)
    assert fewer.graph is not None
    torch.testing.assert_close(torch.from_numpy(fewer.graph.dense(6, 4)), torch.ones(6, 4, dtype=torch.bool).tril())
    more = seen(lambda q, k, v: sdpa(is_causal=True)(q[:, :, :3], k, v))
    # Nobody reads the last three keys: they are left out, and what is left is plain causal.
    assert more.key.shape[2] == 3
    assert more.graph == causal()


def test_scale_is_the_one_that_was_asked_for() -> None:
    assert seen(sdpa(scale=0.1)).scale == 0.1


def test_grouped_keys_are_seen_as_groups() -> None:
    call = seen(lambda q, k, v: sdpa(enable_gqa=True)(q, k[:, :1], v[:, :1]))
    assert (call.site.heads, call.site.groups) == (2, 1)


def test_keys_and_values_of_different_groups_are_seen_with_as_many() -> None:
    call = seen(lambda q, k, v: sdpa(enable_gqa=True)(q, k[:, :1], v))
    assert (call.site.heads, call.site.groups) == (2, 2)
    assert call.residual < 1e-6


def test_dropout_is_said_and_not_checked() -> None:
    model = Heads(sdpa(dropout_p=0.5))
    with trace(model) as run:
        model(torch.randn(2, 6, 8))
    assert run.calls[0].dropout == 0.5
    assert math.isnan(run.calls[0].residual)
    assert run.calls[0].checked.note == "not checked: dropout 0.5 drew numbers of its own"


def test_dropout_leaves_the_random_numbers_as_they_were() -> None:
    assert record(Heads(sdpa(dropout_p=0.5)), torch.randn(2, 6, 8)).proof.exact


@pytest.mark.parametrize(
    ("reshape", "shape"),
    [
        (lambda one: one[0, 0], (1, 1, 6, 4)),
        (lambda one: one[0], (2, 1, 6, 4)),
        (lambda one: one.reshape(2, 1, 2, 6, 4), (2, 2, 6, 4)),
    ],
)
def test_any_number_of_axes_is_seen_as_four(reshape: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> None:
    call = seen(lambda *three: sdpa(is_causal=True)(*map(reshape, three)))
    assert call.query.shape == shape
    assert call.out.shape == shape


def test_broadcast_batches_are_seen_as_torch_computes_them() -> None:
    call = seen(lambda q, k, v: sdpa()(q[:1], k, v))
    assert call.query.shape == (2, 2, 6, 4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_every_dtype_is_explained_up_to_its_own_rounding(dtype: torch.dtype) -> None:
    call = seen(lambda *three: sdpa(is_causal=True)(*(one.to(dtype) for one in three)))
    assert call.dtype is dtype
    assert call.residual < 4 * torch.finfo(dtype).eps


def test_a_fully_hidden_query_is_zero_in_the_fused_function() -> None:
    mask = ~FUTURE
    mask[2] = False
    call = seen(sdpa(attn_mask=mask))
    assert not call.out[:, :, 2].any()


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_multi_head_attention_is_seen_on_every_path(weights: bool, gradients: bool, batch_first: bool) -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=batch_first).eval()
    x = torch.randn(2, 6, 8)
    x = x if batch_first else x.transpose(0, 1)
    masks: list[tuple[dict[str, Any], Any]] = [
        ({}, full()),
        ({"key_padding_mask": HIDDEN}, KEPT),
        ({"attn_mask": FUTURE}, causal()),
        ({"attn_mask": FUTURE, "key_padding_mask": HIDDEN}, causal() & KEPT),
        ({"attn_mask": FUTURE, "is_causal": True}, causal()),
    ]
    for settings, graph in masks:
        found = record(
            model,
            {"query": x, "key": x, "value": x, "need_weights": weights, **settings},
            gradients=gradients,
            check="all",
        )
        assert found.proof.exact
        (call,) = found.calls
        assert call.graph == graph
        assert call.site.kind == "self"
        assert call.query.shape == (2, 2, 6, 4)
        assert call.scale == 0.5
        assert call.residual < 1e-6


def test_the_fast_path_is_still_taken() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 6, 8)
    with torch.no_grad(), trace(model) as run:
        model(x, x, x)
    assert run.calls[0].route == "torch: MultiheadAttention, fast path"


def test_weights_asked_for_are_those_of_the_captured_call() -> None:
    model = nn.MultiheadAttention(8, 2)
    x = torch.randn(6, 2, 8)
    with trace(model) as run:
        _, weights = model(x, x, x, average_attn_weights=False, attn_mask=FUTURE)
    call = run.calls[0]
    again = (call.query @ call.key.mT * call.scale).masked_fill(FUTURE, -math.inf).softmax(-1)
    torch.testing.assert_close(weights, again)


def test_another_sequence_is_cross_attention() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    x, other = torch.randn(2, 6, 8), torch.randn(2, 9, 8)
    for weights in (True, False):
        call = record(model, {"query": x, "key": other, "value": other, "need_weights": weights}).calls[0]
        assert (call.site.kind, call.rows, call.keys) == ("cross", 6, 9)


def test_keys_that_a_layer_adds_are_seen() -> None:
    model = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
    x = torch.randn(6, 2, 8)
    assert record(model, (x, x, x)).calls[0].keys == 8


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_fast_path_of_an_encoder_layer_is_seen_and_explained(norm_first: bool, activation: str) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first, activation=activation).eval()
    x = torch.randn(2, 6, 8)
    for settings, graph in (
        ({}, full()),
        ({"src_key_padding_mask": HIDDEN}, KEPT),
        ({"src_mask": FUTURE}, causal()),
        ({"src_mask": FUTURE, "src_key_padding_mask": HIDDEN}, causal() & KEPT),
    ):
        found = record(layer, {"src": x, **settings}, check="all")
        assert found.proof.exact
        (call,) = found.calls
        assert (call.site.name, call.route) == ("self_attn", "torch: TransformerEncoderLayer, fast path")
        assert call.graph == graph
        assert call.residual < 1e-5
    slow = record(layer, {"src": x}, gradients=True).calls[0]
    assert (slow.site.name, slow.route) == ("self_attn", "torch: scaled_dot_product_attention")
    np.testing.assert_array_equal(slow.query.bits, record(layer, x).calls[0].query.bits)


def test_an_encoder_that_leaves_padding_out_is_seen() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that its nested tensors are a prototype
        found = record(model, {"src": torch.randn(2, 6, 8), "src_key_padding_mask": HIDDEN}, check="all")
    assert found.proof.exact
    assert [call.site.name for call in found.calls] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert all(call.graph == KEPT for call in found.calls)


def test_a_fused_layer_that_does_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    real = torch._transformer_encoder_layer_fwd
    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", lambda src, *more: real(src.flip(1), *more))
    with torch.no_grad(), trace(layer), pytest.raises(TraceError, match="self_attn: query, key, value and mask"):
        layer(torch.randn(2, 6, 8))


def test_torch_s_whole_transformer_is_seen() -> None:
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    found = record(model, (torch.randn(2, 6, 8), torch.randn(2, 5, 8)))
    assert found.proof.exact
    assert [(call.site.name, call.site.kind) for call in found.calls] == [
        ("encoder.layers.0.self_attn", "self"),
        ("decoder.layers.0.self_attn", "self"),
        ("decoder.layers.0.multihead_attn", "cross"),
    ]


def flex(**settings: Any) -> Callable[..., Any]:
    return lambda query, key, value: flex_attention(query, key, value, **settings)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_s_block_mask_is_a_graph() -> None:
    assert seen(flex()).graph is full()
    blocks = create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < 2), None, None, 6, 6, device="cpu")
    assert seen(flex(block_mask=blocks)).graph == window(2)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_s_score_function_is_a_cap_or_a_bias() -> None:
    call = seen(flex(score_mod=lambda score, b, h, q, k: 5 * torch.tanh(score / 5)))
    assert call.soft_cap == pytest.approx(5)
    call = seen(flex(score_mod=lambda score, b, h, q, k: score - (q - k) * 0.5))
    assert call.bias is not None
    call = seen(flex(score_mod=lambda score, b, h, q, k: torch.where(q >= k, score, -math.inf)))
    assert call.graph == causal()


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_a_score_function_that_is_neither_is_an_error() -> None:
    model = Heads(flex(score_mod=lambda score, b, h, q, k: score * score))
    with torch.no_grad(), trace(model), pytest.raises(TraceError) as caught:
        model(torch.randn(2, 6, 8))
    assert str(caught.value) == (
        "flex_attention's score_mod must add to the score, or cap it by c · tanh(score / c) and then add, to be "
        "captured; this one does something else: leave its sites out with sites="
    )
