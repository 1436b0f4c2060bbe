"""Swapping in tiny models of transformers: what was named is replaced, whatever else the model does, and only that."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from edgewise import swap, trace
from edgewise.attention import reference
from edgewise.graphs import causal, window
from edgewise.tracing import Captured

pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")


def _load() -> Any:
    # Tests are not a package: the families are taken from the file beside this one.
    spec = importlib.util.spec_from_file_location("families", Path(__file__).with_name("test_families.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["families"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


families = _load()
FAMILIES = families.FAMILIES
PADDED = [
    (name, backend, side)
    for name in ("llama", "mistral", "gemma2", "gpt_oss", "gpt2", "bert", "t5", "bart", "falcon")
    for backend in FAMILIES[name].backends
    for side in (("left", "right") if name in ("llama", "bert", "t5") else ("left",))
]
WHOLE = [(name, backend, "") for name in FAMILIES for backend in FAMILIES[name].backends]


def same(stage: Tensor) -> Tensor:
    return stage


def numbers(model: Any, inputs: Any) -> tuple[Tensor, list[Tensor]]:
    """What a model gives, and the gradients of all its parameters."""
    given = model(**inputs)
    out = next(
        one
        for key in ("logits", "logits_per_text", "last_hidden_state")
        if (one := getattr(given, key, None)) is not None
    )
    wanted = [one for one in model.parameters() if one.requires_grad]
    found = torch.autograd.grad(out.square().sum(), wanted, allow_unused=True)
    return out.detach(), [one for one in found if one is not None]


@pytest.mark.parametrize(("name", "backend", "side"), WHOLE + PADDED)
def test_every_line_swapped_for_itself_gives_the_model_and_its_gradients(name: str, backend: str, side: str) -> None:
    # All heads are computed again, by stages: mask, bias, cap, sinks, groups and layout must be the model's.
    family = FAMILIES[name]
    model, inputs = family.build(backend), family.inputs(side)
    out, gradients = numbers(model, inputs)
    with swap(model, scores=same, weights=same, values=same, out=same) as done:
        again, found = numbers(model, inputs)
    assert done.calls
    torch.testing.assert_close(again, out, rtol=1e-5, atol=2e-6)
    largest = max(float(one.abs().max()) for one in gradients)
    assert len(found) == len(gradients)
    for one, other in zip(found, gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=3e-6 * largest)


@pytest.mark.parametrize(
    ("name", "backend"),
    [case for case in families.CASES if case.values[0] in ("llama", "gpt2", "bert", "t5", "gpt_oss")],
)
def test_with_nothing_swapped_not_a_bit_is_different(name: str, backend: str) -> None:
    family = FAMILIES[name]
    model, inputs = family.build(backend), family.inputs("")
    out, gradients = numbers(model, inputs)
    with swap(model):
        again, found = numbers(model, inputs)
    assert torch.equal(out, again)
    assert all(torch.equal(one, other) for one, other in zip(found, gradients, strict=True))


class Mixed:
    """Where the outputs of a site's heads are mixed: the columns of a head, or its rows where the matrix is turned."""

    def __init__(self, site: str, mix: str, turned: bool = False) -> None:
        self.site, self.mix, self.turned = site, mix, turned

    def without(self, model: Any, heads: list[int]) -> None:
        """Leave these heads of eight channels out of the mixing."""
        weight = model.get_submodule(self.mix).weight.data
        for head in heads:
            part = slice(8 * head, 8 * head + 8)
            weight[(part if self.turned else (slice(None), part))] = 0


MIXED = {
    "llama": Mixed("model.layers.1.self_attn", "model.layers.1.self_attn.o_proj"),
    "mistral": Mixed("model.layers.1.self_attn", "model.layers.1.self_attn.o_proj"),
    "gemma2": Mixed("model.layers.0.self_attn", "model.layers.0.self_attn.o_proj"),
    "gpt_oss": Mixed("model.layers.1.self_attn", "model.layers.1.self_attn.o_proj"),
    "gpt2": Mixed("transformer.h.1.attn", "transformer.h.1.attn.c_proj", turned=True),
    "bert": Mixed("bert.encoder.layer.1.attention.self", "bert.encoder.layer.1.attention.output.dense"),
    "bart": Mixed("model.decoder.layers.1.encoder_attn", "model.decoder.layers.1.encoder_attn.out_proj"),
    "t5": Mixed("decoder.block.1.layer.1.EncDecAttention", "decoder.block.1.layer.1.EncDecAttention.o"),
}


@pytest.mark.parametrize(
    ("name", "backend"), [(name, backend) for name in MIXED for backend in FAMILIES[name].backends]
)
def test_an_output_of_zeros_is_a_head_that_is_not_mixed_in(name: str, backend: str) -> None:
    family, mixed = FAMILIES[name], MIXED[name]
    model, inputs = family.build(backend), family.inputs("left")
    plain, _ = numbers(model, inputs)
    with swap(model, mixed.site, heads=[0, 3], out="zeros") as done:
        out, _ = numbers(model, inputs)
    assert done.calls == {mixed.site: 1}
    assert (out - plain).abs().max() > 1e-5
    mixed.without(model, [0, 3])
    torch.testing.assert_close(out, numbers(model, inputs)[0])


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "gpt2", "bert", "t5", "mistral"])
@pytest.mark.parametrize("side", ["", "left"])
def test_scores_of_zero_are_the_average_of_what_may_be_read(name: str, side: str) -> None:
    family = FAMILIES[name]
    model, inputs = family.build("eager"), family.inputs(side)
    untouched = captured(model, inputs)
    for call, before in zip(captured(model, inputs, heads=[1], scores="zeros"), untouched, strict=True):
        value = call.value.repeat_interleave(call.site.heads // call.site.groups, 1)[:, 1]
        edges = allowed(call)[:, 0]
        nobody = ~edges.any(-1, keepdim=True)
        edges = (edges | nobody).float()
        more = 0 if call.sinks is None else call.sinks[1].exp()
        # A query without any key reads them all in these models, and its sink is nothing beside the lowest number.
        weights = edges / (edges.sum(-1, keepdim=True) + more)
        some = ~nobody.expand_as(call.out[:, 1])
        torch.testing.assert_close(call.out[:, 1][some], (weights @ value)[some])
        if call.index == 0 and call.site == untouched[0].site:
            assert torch.equal(call.out[:, [0, 2, 3]], before.out[:, [0, 2, 3]])


@pytest.mark.parametrize("name", ["llama", "t5", "gpt_oss", "gemma2"])
def test_heads_that_share_keys_and_values_are_swapped_one_by_one(name: str) -> None:
    family = FAMILIES[name]
    model, inputs = family.build("eager"), family.inputs("")
    before = captured(model, inputs)[0]
    for head in range(4):
        after = captured(model, inputs, heads=head, values="zeros")[0]
        assert not after.out[:, head].any()
        others = [other for other in range(4) if other != head]
        assert torch.equal(after.out[:, others], before.out[:, others])


@pytest.mark.parametrize("name", ["llama", "bert", "gpt_oss", "t5"])
def test_weights_that_the_model_returns_are_those_that_were_used(name: str) -> None:
    family = FAMILIES[name]
    model, inputs = family.build("eager"), family.inputs("")
    kind = "decoder_attentions" if name == "t5" else "attentions"
    with torch.no_grad():
        before = model(**inputs, output_attentions=True)[kind][0]
        with swap(model, "self", heads=[2], scores="zeros", weights=lambda weights: weights / 2), trace(model) as run:
            after = model(**inputs, output_attentions=True)[kind][0]
    call = next(call for call in run.calls if not call.site.name.startswith("encoder"))
    assert torch.equal(after[:, [0, 1, 3]], before[:, [0, 1, 3]])
    value = call.value.repeat_interleave(call.site.heads // call.site.groups, 1)[:, 2]
    torch.testing.assert_close(after[:, 2] @ value, call.out[:, 2])
    edges = allowed(call)[:, 0].float().expand(*after[:, 2].shape)
    more = 0 if call.sinks is None else call.sinks[2].exp()
    torch.testing.assert_close(after[:, 2], edges / (edges.sum(-1, keepdim=True) + more) / 2)


@pytest.mark.slow  # the library compiles that one
@pytest.mark.filterwarnings("ignore")
def test_the_backend_of_blocks_is_swapped_as_the_others() -> None:
    inputs, outs = FAMILIES["llama"].inputs(""), []
    for backend in ("sdpa", "flex_attention"):
        model = FAMILIES["llama"].build(backend)
        with torch.no_grad(), swap(model, heads=[0, 3], scores="zeros", values=torch.tanh):
            outs.append(model(**inputs).logits)
    torch.testing.assert_close(*outs)


def test_another_model_that_runs_meanwhile_is_neither_swapped_nor_captured() -> None:
    mine, other = (FAMILIES["llama"].build("sdpa") for _ in range(2))
    inputs = FAMILIES["llama"].inputs("")
    with torch.no_grad():
        plain = other(**inputs).logits
        with swap(mine, out="zeros"), trace(mine) as run:
            mine(**inputs)
            assert torch.equal(other(**inputs).logits, plain)
    assert len(run.calls) == 2


def test_cross_attention_alone_is_swapped() -> None:
    model, inputs = FAMILIES["t5"].build("sdpa"), FAMILIES["t5"].inputs("")
    with torch.no_grad(), swap(model, "cross", out="zeros") as done, trace(model) as run:
        model(**inputs)
    assert sorted(done.calls) == [f"decoder.block.{layer}.layer.1.EncDecAttention" for layer in (0, 1)]
    assert [bool(call.out.any()) for call in run.calls] == [call.site.kind == "self" for call in run.calls]


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_counts_in_no_mean(side: str) -> None:
    model, inputs = FAMILIES["llama"].build("sdpa"), FAMILIES["llama"].inputs(side)
    token = inputs["attention_mask"].bool()
    before = captured(model, inputs)[0]
    after = captured(model, inputs, sites=0, heads=[1], out="mean")[0]
    wanted = before.out[:, 1][token].mean(0)
    torch.testing.assert_close(after.out[:, 1], wanted.expand_as(after.out[:, 1]))
    values = captured(model, inputs, sites=0, heads=[1], values="mean")[0]
    wanted = before.value[:, 0][token].mean(0)
    torch.testing.assert_close(values.out[:, 1][token], wanted.expand(int(token.sum()), -1))


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_a_window_in_the_place_of_a_mask_hides_what_the_model_would_read(backend: str) -> None:
    model, inputs = FAMILIES["llama"].build(backend), FAMILIES["llama"].inputs("")
    call = captured(model, inputs, heads=[0], mask=window(2))[0]
    again = reference(call.query, call.key, call.value, window(2), scale=call.scale).out
    torch.testing.assert_close(call.out[:, 0], again[:, 0])


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", ["llama", "gpt2", "t5"])
@pytest.mark.parametrize(
    "change",
    [
        {"scores": "zeros"},
        {"mask": causal() & window(3)},
        {"scale": 1.0},
        {"values": lambda values: -values},
        {"weights": lambda weights: weights.square()},
        {"out": "zeros"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_generation_with_a_cache_swaps_what_one_pass_does(name: str, cache: str | None, change: dict[str, Any]) -> None:
    model = FAMILIES[name].build("sdpa")
    model.generation_config.eos_token_id = None
    settings = {"max_new_tokens": 5, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    settings |= {} if cache is None else {"cache_implementation": cache}
    tokens = families.text()
    sites = ["decoder.block.*.layer.0.SelfAttention"] if name == "t5" else None
    with torch.no_grad(), swap(model, sites, heads=[0, 1, 2], **change):
        made = model.generate(tokens, **settings)
        if name == "t5":
            whole = model(input_ids=tokens, decoder_input_ids=made.sequences[:, :-1]).logits
        else:
            whole = model(made.sequences[:, :-1]).logits[:, tokens.shape[1] - 1 :]
    torch.testing.assert_close(torch.stack(made.logits, 1), whole, rtol=1e-4, atol=1e-5)


def captured(model: Any, inputs: Any, sites: Any = None, **change: Any) -> list[Captured]:
    with torch.no_grad(), swap(model, sites, **change), trace(model) as run:
        model(**inputs)
    return run.calls


def allowed(call: Captured) -> Tensor:
    """(batch, 1, query, key)"""
    if isinstance(call.allowed, Tensor):
        return call.allowed.expand(call.query.shape[0], 1, -1, -1)
    dense = torch.from_numpy(call.allowed.dense(call.query.shape[2], call.key.shape[2]))
    return dense.expand(call.query.shape[0], *dense.shape[-2:])[:, None]
