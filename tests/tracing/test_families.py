"""Tiny models of transformers with random weights, one for each way of attending: captured, explained, unchanged."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.graphs import causal, full
from edgewise.tracing import Captured, record, trace

transformers: Any = pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")

BASE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 60,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**BASE, "num_key_value_heads": 2}
SIZES = {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 60, "decoder_start_token_id": 1}
LAYERS = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
SEEN = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
PATCHES = {**SEEN, "image_size": 16, "patch_size": 4}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

Inputs = dict[str, Tensor]


def text(rows: int = 2, length: int = 9) -> Tensor:
    """Random tokens."""
    return torch.randint(3, 60, (rows, length), generator=torch.Generator().manual_seed(1))


def padded(side: str) -> Inputs:
    """Tokens of which the first sequence has three of padding, at the "left", the "right" or nowhere ("")."""
    mask = torch.ones(2, 9, dtype=torch.long)
    if not side:
        return {"input_ids": text()}
    mask[0, slice(0, 3) if side == "left" else slice(6, 9)] = 0
    return {"input_ids": text(), "attention_mask": mask}


def both(side: str) -> Inputs:
    """As `padded`, with something to decode."""
    return {**padded(side), "decoder_input_ids": text(length=6)}


def image(side: str) -> Inputs:
    """Random pixels."""
    return {"pixel_values": torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))}


def sound(side: str) -> Inputs:
    """Random frames of sound, with something to decode."""
    frames = torch.randn(2, 8, 20, generator=torch.Generator().manual_seed(1))
    return {"input_features": frames, "decoder_input_ids": text(length=6)}


class Family(NamedTuple):
    """How to build one model, what it is given, and the graphs that its sites have without padding."""

    model: str
    config: str
    settings: dict[str, Any]
    graphs: set[str]
    inputs: Callable[[str], Inputs] = padded
    backends: tuple[str, ...] = ("eager", "sdpa")

    def build(self, backend: str) -> Any:
        """The model, ready to evaluate."""
        torch.manual_seed(0)
        config = getattr(transformers, self.config)(**self.settings)
        return getattr(transformers, self.model)._from_config(config, attn_implementation=backend).eval()


FAMILIES = {
    "llama": Family("LlamaForCausalLM", "LlamaConfig", GROUPED, {"causal()"}),
    "mistral": Family("MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 4}, {"window(4)"}),
    "gemma2": Family(
        "Gemma2ForCausalLM",
        "Gemma2Config",
        {**GROUPED, "head_dim": 8, "sliding_window": 4, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 16},
        {"causal()", "window(4)"},
        backends=("eager",),
    ),
    "gemma3": Family(
        "Gemma3ForCausalLM", "Gemma3TextConfig", {**GROUPED, "head_dim": 8, "sliding_window": 4}, {"window(4)"}
    ),
    "gpt_oss": Family(
        "GptOssForCausalLM",
        "GptOssConfig",
        {**GROUPED, "head_dim": 8, "sliding_window": 4, "num_local_experts": 4, "num_experts_per_tok": 2},
        {"causal()", "window(4)"},
        backends=("eager",),
    ),
    "gpt2": Family(
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 60, "bos_token_id": 1, "eos_token_id": 2},
        {"causal()"},
    ),
    "bert": Family("BertForMaskedLM", "BertConfig", BASE, {"full()"}),
    "albert": Family("AlbertForMaskedLM", "AlbertConfig", {**BASE, "embedding_size": 16}, {"full()"}),
    "modernbert": Family(
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        {**BASE, "local_attention": 4, "global_attn_every_n_layers": 2},
        {"full()", "window(3, ahead=2)"},
    ),
    "qwen2": Family("Qwen2ForCausalLM", "Qwen2Config", GROUPED, {"causal()"}),
    "phi": Family("PhiForCausalLM", "PhiConfig", BASE, {"causal()"}),
    "llama4": Family(
        "Llama4ForCausalLM",
        "Llama4TextConfig",
        {**GROUPED, "head_dim": 8, "attention_chunk_size": 4, "num_local_experts": 2, "intermediate_size_mlp": 64},
        {"causal() & chunks(4)"},
    ),
    "falcon": Family(
        "FalconForCausalLM",
        "FalconConfig",
        {name: BASE[name] for name in BASE if name != "intermediate_size"} | {"alibi": True},
        {"causal()"},
        backends=("sdpa",),
    ),
    "t5": Family(
        "T5ForConditionalGeneration",
        "T5Config",
        {**IDS, **SIZES, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
        {"full()", "causal()"},
        both,
    ),
    "bart": Family(
        "BartForConditionalGeneration", "BartConfig", {**SIZES, **LAYERS, **IDS}, {"full()", "causal()"}, both
    ),
    "whisper": Family(
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {**SIZES, **LAYERS, **IDS, "num_mel_bins": 8, "max_source_positions": 10, "max_target_positions": 20},
        {"full()", "causal()"},
        sound,
    ),
    "vit": Family("ViTModel", "ViTConfig", PATCHES, {"full()"}, image),
    "dinov2": Family("Dinov2Model", "Dinov2Config", PATCHES, {"full()"}, image),
    "swin": Family(
        "SwinModel",
        "SwinConfig",
        {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4},
        {"full()"},
        image,
    ),
    "clip": Family(
        "CLIPModel",
        "CLIPConfig",
        {"text_config": {**BASE, "max_position_embeddings": 16}, "vision_config": PATCHES, "projection_dim": 16},
        {"full()", "causal()"},
        lambda side: padded(side) | image(side),
    ),
}

CASES = [
    pytest.param(name, backend, id=f"{name}-{backend}") for name in FAMILIES for backend in FAMILIES[name].backends
]
PADDED = [case for case in CASES if FAMILIES[case.values[0]].inputs in (padded, both)]


@pytest.mark.parametrize(("name", "backend"), CASES)
def test_a_model_is_captured_explained_and_unchanged(name: str, backend: str) -> None:
    family = FAMILIES[name]
    found = record(family.build(backend), family.inputs(""), check="all")
    assert found.proof.exact
    assert found.calls
    assert max(call.residual for call in found.calls) < 1e-6
    assert {repr(call.graph) for call in found.calls} == family.graphs


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("name", "backend"), PADDED)
def test_padding_is_seen_as_keys_that_nobody_may_read(name: str, backend: str, side: str) -> None:
    family = FAMILIES[name]
    inputs = family.inputs(side)
    found = record(family.build(backend), inputs, check="all")
    assert found.proof.exact
    assert max(call.residual for call in found.calls) < 1e-6
    hidden = inputs["attention_mask"] == 0
    for call in found.calls:
        if call.keys != hidden.shape[1] or ("decoder" in call.site.name and call.site.kind == "self"):
            continue
        assert call.graph is not None
        dense = torch.from_numpy(call.graph.dense(call.rows, call.keys))
        assert not dense.expand(2, -1, -1)[hidden[:, None].expand(-1, call.rows, -1)].any(), call.site


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "bert", "t5", "whisper"])
def test_weights_computed_again_are_those_that_the_model_gives(name: str) -> None:
    family = FAMILIES[name]
    model = family.build("eager")
    with torch.no_grad(), trace(model) as run:
        out = model(**family.inputs(""), output_attentions=True)
    given = [
        one
        for key in ("encoder_attentions", "decoder_attentions", "cross_attentions", "attentions")
        for one in getattr(out, key, None) or ()
    ]
    assert len(given) == len(run.calls)
    for call, weights in zip(_ordered(run.calls), given, strict=True):
        torch.testing.assert_close(_weights(call), weights, rtol=1e-5, atol=1e-6)


def test_a_row_of_padding_is_computed_again_as_the_model_does() -> None:
    # Eager functions add the lowest number where there is no edge; a query with no key at all then reads every key.
    model = FAMILIES["llama"].build("eager")
    with torch.no_grad(), trace(model, check="all") as run:
        model(**padded("left"))
    call = run.calls[0]
    assert call.hidden == torch.finfo(torch.float32).min
    assert not call.graph.dense(9, 9)[0, 0].any()
    torch.testing.assert_close(call.out[0, :, 0], call.value[0].mean(-2).repeat_interleave(2, 0))


def test_a_row_of_padding_is_zero_where_the_fused_function_makes_it_so() -> None:
    model = FAMILIES["llama"].build("sdpa")
    with torch.no_grad(), trace(model, check="all") as run:
        model(**padded("left"))
    assert run.calls[0].hidden == -math.inf
    assert not run.calls[0].out[0, :, :3].any()


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_gradients_are_unchanged(backend: str) -> None:
    found = record(FAMILIES["llama"].build(backend), padded("left"), gradients=True)
    assert found.proof.exact
    assert found.proof.gradients == 0
    assert found.proof.gradient_numbers > 1000


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", ["llama", "gpt2", "bart", "whisper", "t5"])
def test_generation_is_one_record(name: str, cache: str | None) -> None:
    family = FAMILIES[name]
    model = family.build("sdpa")
    inputs = {key: one for key, one in family.inputs("").items() if key != "decoder_input_ids"}
    settings = {"max_new_tokens": 4, "do_sample": False, "min_new_tokens": 4}
    settings |= {} if cache is None else {"cache_implementation": cache}
    found = record(model, inputs, forward=lambda model, inputs: model.generate(**inputs, **settings), check="all")
    assert found.proof.exact
    site = next(call.site for call in found.calls if call.site.kind == "self" and "encoder." not in call.site.name)
    calls = found.of(site)
    lengths = [call.rows for call in calls]
    assert lengths[1:] == [1, 1, 1]
    assert [call.cached for call in calls] == [sum(lengths[:step]) for step in range(4)]
    assert [call.position for call in calls] == [call.cached for call in calls]
    assert [call.keys for call in calls] == [call.cached + call.rows for call in calls]
    assert calls[0].graph == (causal() if lengths[0] > 1 else full())


def test_a_window_that_the_cache_forgets_leaves_the_position_right() -> None:
    model = FAMILIES["mistral"].build("sdpa")
    with trace(model) as run:
        model.generate(text(), max_new_tokens=4, do_sample=False, min_new_tokens=4)
    calls = run.record().of("model.layers.0.self_attn")
    assert [(call.position, call.cached, call.keys) for call in calls] == [(0, 0, 9), (9, 3, 4), (10, 3, 4), (11, 3, 4)]


def test_parts_of_a_composite_model_keep_their_backends() -> None:
    family = FAMILIES["clip"]
    model = family.build("sdpa")
    model.set_attn_implementation({"vision_config": "eager"})
    found = record(model, family.inputs("left"), check="all")
    assert found.proof.exact
    assert {(call.site.name.split("_")[0], call.route) for call in found.calls} == {
        ("text", "transformers: sdpa"),
        ("vision", "transformers: eager"),
    }
    assert model.config.vision_config._attn_implementation == "eager"


def _ordered(calls: list[Captured]) -> list[Captured]:
    """The calls as transformers orders weights: encoder, decoder, cross."""
    return sorted(calls, key=lambda call: (not call.site.name.startswith("model.encoder"), call.site.kind == "cross"))


def _weights(call: Captured) -> Tensor:
    return reference(
        *(call.query, call.key, call.value, call.allowed),
        scale=call.scale,
        bias=call.bias,
        soft_cap=call.soft_cap,
        sinks=call.sinks,
    ).weights
