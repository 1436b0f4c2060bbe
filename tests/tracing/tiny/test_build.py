"""Small random models of architectures by their names."""

from typing import Any

import pytest
import torch

from edgewise.errors import ArgumentError, MissingError, RunError
from edgewise.tracing import Given, feed, recorded, tiny_target
from edgewise.tracing.tiny import tiny, types
from edgewise.tracing.tiny.build import LARGEST

transformers: Any = pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")

FEW = {
    "gpt2": ("causal-LM", "text"),
    "mixtral": ("causal-LM", "text"),
    "bert": ("masked-LM", "text"),
    "t5": ("sequence-to-sequence", "text"),
    "vit": ("vision", "an image"),
    "clip": ("vision-language", "text and an image"),
    "whisper": ("audio", "a sound"),
    "wav2vec2": ("audio", "a sound"),
}


def test_there_are_hundreds_of_types_of_every_kind() -> None:
    found = types()
    assert len(found) >= 300
    assert {"causal-LM", "masked-LM", "sequence-to-sequence", "vision", "audio", "vision-language"} <= {*found.values()}


@pytest.mark.parametrize("name", FEW)
def test_a_type_is_built_small_and_finds_something_to_read(name: str) -> None:
    made = tiny(name)
    assert (made.kind, made.reads) == FEW[name]
    assert made.level == "small"
    assert not made.model.training
    assert sum(one.numel() for one in made.model.parameters()) < 5_000_000


def test_the_seed_makes_the_same_model_and_draws_nothing_from_anyone_else() -> None:
    before = torch.get_rng_state()
    one, other, another = tiny("gpt2", 1), tiny("gpt2", 1), tiny("gpt2", 2)
    assert torch.equal(before, torch.get_rng_state())
    for name, weight in one.model.state_dict().items():
        torch.testing.assert_close(weight, other.model.state_dict()[name], rtol=0, atol=0)
    assert torch.equal(one.inputs["input_ids"], other.inputs["input_ids"])
    assert not torch.equal(one.inputs["input_ids"], another.inputs["input_ids"])


def test_every_kind_of_layer_is_kept() -> None:
    config: Any = tiny("gemma3_text").model.config
    assert {*config.layer_types} == {"sliding_attention", "full_attention"}
    assert config.num_key_value_heads < config.num_attention_heads


def test_a_small_model_is_a_target_with_something_to_read() -> None:
    found = tiny_target("gpt2", dtype=torch.bfloat16)
    assert (found.name, found.reads) == ("tiny gpt2", "random text")
    record = recorded(found, feed(found, Given()))
    assert {call.dtype for call in record.calls} == {"bfloat16"}
    assert record.inputs == {"reads": "random text"}


def test_a_type_that_is_not_there_names_close_ones() -> None:
    with pytest.raises(ArgumentError, match=r"wanted a type of model that transformers knows, .*; close ones: .*gpt2"):
        tiny("gpt-2")


def test_what_cannot_be_built_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(config: Any) -> Any:
        raise ImportError("It needs a kernel.\nYou can install it with pip")

    assert LARGEST > 1_000_000
    monkeypatch.setattr("edgewise.tracing.tiny.build.model_class", lambda name, task=None: refuse)
    with pytest.raises(
        RunError, match=r"gpt2 could not be built small and run: ImportError: You can install it with pip"
    ):
        tiny("gpt2")


def test_without_transformers_a_type_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingError, match=r"pip install 'edgewise\[transformers\]'"):
        tiny("gpt2")


def test_a_type_is_built_for_each_of_its_tasks_and_a_causal_one_is_a_decoder() -> None:
    from edgewise.tracing.tiny import tasks

    assert tasks("bert") == ("masked", "causal")
    assert tasks("bart") == ("sequence-to-sequence", "causal")
    assert tasks("vit") == ("vision",)
    made = tiny("bert", task="causal")
    assert type(made.model).__name__ == "BertLMHeadModel"
    assert made.model.config.is_decoder  # pyright: ignore[reportAttributeAccessIssue]
    assert type(tiny("bert").model).__name__ == "BertForMaskedLM"


def test_a_task_that_a_type_is_not_built_for_is_told() -> None:
    with pytest.raises(ArgumentError, match="gpt2 is built for causal; asked for 'masked'"):
        tiny("gpt2", task="masked")
