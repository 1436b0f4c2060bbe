"""Under autocast a model computes in half precision: what is captured is that, explained at its rounding, unchanged."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise.graphs import causal, full
from edgewise.ladder import Size, rung
from edgewise.tracing import Captured, record, trace

DTYPES = [torch.bfloat16, torch.float16]
FUTURE = torch.ones(6, 6, dtype=torch.bool).triu(1)


class Heads(nn.Module):
    """Four heads of four around a function of attention."""

    def __init__(self, attention: Callable[..., Tensor]) -> None:
        super().__init__()
        self.attention, self.linear, self.mix = attention, nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.linear(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        return self.mix(self.attention(query, key, value).transpose(1, 2).flatten(2))


def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def written(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (query @ key.mT / 2).masked_fill(FUTURE, -torch.inf).softmax(-1) @ value


def einsum(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = (torch.einsum("bhid,bhjd->bhij", query, key) / 2).masked_fill(FUTURE, -torch.inf).softmax(-1)
    return torch.einsum("bhij,bhjd->bhid", weights, value)


def checked(model: Any, x: Any, dtype: torch.dtype) -> list[Captured]:
    """The calls; outputs, gradients and dtypes unchanged, or the test fails."""

    def run() -> tuple[Tensor, list[Tensor]]:
        with torch.autocast("cpu", dtype):
            out = model(**x) if isinstance(x, dict) else model(x)
        out = getattr(out, "logits", out)
        wanted = list(model.parameters())
        found = torch.autograd.grad(out.float().square().sum(), wanted, allow_unused=True)
        return out, [one for one in found if one is not None]

    plain, gradients = run()
    with trace(model, check="all") as seen:
        out, again = run()
    assert torch.equal(out, plain)
    assert all(torch.equal(one, other) for one, other in zip(again, gradients, strict=True))
    assert seen.unexplained == {}
    assert torch.is_autocast_enabled("cpu") is False
    seen.record()
    return seen.calls


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("attention", [fused, written, einsum])
def test_a_function_is_captured_in_the_dtype_it_was_given(attention: Callable[..., Tensor], dtype: torch.dtype) -> None:
    (call,) = checked(Heads(attention), torch.randn(2, 6, 16), dtype)
    assert call.query.dtype == call.value.dtype == dtype
    assert call.graph == causal()
    assert call.residual < 4 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", [True, False])
def test_multi_head_attention_is_captured(weights: bool, dtype: torch.dtype) -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x, x, x, need_weights=weights, attn_mask=FUTURE)[0]

    (call,) = checked(Layer(), torch.randn(2, 6, 16), dtype)
    assert call.graph == causal()
    assert call.query.dtype == dtype


@pytest.mark.parametrize("norm_first", [True, False])
def test_torch_s_encoder_is_captured_on_both_paths(norm_first: bool) -> None:
    model = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, norm_first=norm_first).eval()
    x = torch.randn(2, 6, 16)
    (call,) = checked(model, x, torch.bfloat16)
    assert call.graph == full()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        plain = model(x)
        with trace(model, check="all") as run:
            assert torch.equal(model(x), plain)
    assert [one.route for one in run.calls] == ["torch: TransformerEncoderLayer, fast path"]
    torch.testing.assert_close(run.calls[0].out, call.out, rtol=0.05, atol=0.02)


def test_the_fast_path_of_multi_head_attention_is_captured() -> None:
    layer, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 6, 16)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        plain = layer(x, x, x)[0]
        with trace(layer, check="all") as run:
            assert torch.equal(layer(x, x, x)[0], plain)
    assert [call.route for call in run.calls] == ["torch: MultiheadAttention, fast path"]


@pytest.mark.parametrize("name", ["scale", "heads", "gpt"])
def test_a_rung_of_the_ladder_is_captured(name: str) -> None:
    model = rung(name).build(Size(vocabulary=65))
    calls = checked(model, torch.randint(65, (2, 8)), torch.bfloat16)
    assert {call.graph for call in calls} == {causal()}


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["Llama", "Gemma2", "GPT2", "T5"])
def test_models_of_transformers_are_captured(name: str, backend: str) -> None:
    transformers = pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")
    if (name, backend) == ("Gemma2", "sdpa"):
        pytest.skip("it caps its scores, which the fused function cannot")
    names = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    settings: dict[str, Any] = {"vocab_size": 60, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    settings |= {
        "T5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 1},
        "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    }.get(name, {**names, "num_key_value_heads": 2, "head_dim": 8})
    kind = {"T5": "T5ForConditionalGeneration", "GPT2": "GPT2LMHeadModel"}.get(name, f"{name}ForCausalLM")
    config = getattr(transformers, f"{name}Config")(**settings)
    model = getattr(transformers, kind)._from_config(config, attn_implementation=backend).eval()
    tokens = torch.randint(3, 60, (2, 9))
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[0, :3] = 0
    inputs = {"input_ids": tokens, "attention_mask": mask} | ({"decoder_input_ids": tokens} if name == "T5" else {})
    calls = checked(model, inputs, torch.bfloat16)
    assert len(calls) == (6 if name == "T5" else 2)
    assert max(call.residual for call in calls) < 0.05


def test_a_record_says_in_which_dtype_it_was_computed() -> None:
    model = Heads(fused)

    def forward(model: Any, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return model(x)

    found = record(model, torch.randn(2, 6, 16), forward=forward, gradients=True)
    assert found.proof.exact
    assert found.calls[0].dtype == "bfloat16"
