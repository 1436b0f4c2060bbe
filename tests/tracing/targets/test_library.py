"""Models that transformers loads, from folders made here; nothing is fetched."""

import struct
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgewise.errors import ArgumentError, DataError, MissingError, RunError
from edgewise.tracing import Given, feed, recorded, target
from edgewise.tracing.tiny import tiny

transformers: Any = pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")

WORDS = ["<s>", "</s>", "the", "king", "of", "France", "is", "bald", "Ġold"]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small GPT-2 and a tokenizer of nine words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("gpt2")
    tiny("gpt2").model.save_pretrained(folder)  # pyright: ignore[reportCallIssue]
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<s>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>").save_pretrained(
        folder
    )
    return folder


def folder_of(name: str, folder: Path, processor: Any = None) -> str:
    tiny(name).model.save_pretrained(folder)  # pyright: ignore[reportCallIssue]
    if processor is not None:
        processor.save_pretrained(folder)
    return str(folder)


def test_a_folder_is_the_model_its_config_names_with_its_tokenizer(gpt2: Path) -> None:
    found = target(str(gpt2))
    assert type(found.model).__name__ == "GPT2LMHeadModel"
    record = recorded(found, feed(found, Given(text="the king of France")))
    assert record.tokens == (("the", "king", "of", "France"),)
    assert [call.rows for call in record.calls] == [4, 4]
    assert record.proof.exact


def test_a_text_may_be_cut(gpt2: Path) -> None:
    found = target(str(gpt2))
    assert feed(found, Given(text="the king of France", limit=2)).inputs["input_ids"].tolist() == [[2, 3]]


def test_the_model_goes_on_from_a_prompt_and_what_it_wrote_is_told(gpt2: Path) -> None:
    found = target(str(gpt2))
    found.model.generation_config.eos_token_id = None
    record = recorded(found, feed(found, Given(text="the king of", generate=4)), copy=True)
    calls = record.of("transformer.h.0.attn")
    assert [call.rows for call in calls] == [3, 1, 1, 1]
    assert [call.keys for call in calls] == [3, 4, 5, 6]
    assert record.tokens is not None
    assert len(record.tokens[0]) == 7
    assert record.inputs == {"text": "the king of", "generated": 4}
    assert record.proof.exact


def test_nothing_to_read_says_what_may_be_given(gpt2: Path) -> None:
    with pytest.raises(ArgumentError, match=r"nothing was given to .* to read: give --text, --text-file, --ids"):
        feed(target(str(gpt2)), Given())
    with pytest.raises(DataError, match=r"wanted a text of at least one token; got an empty one"):
        feed(target(str(gpt2)), Given(text=""))


def test_an_encoder_and_decoder_reads_the_text_and_begins_to_write(tmp_path: Path) -> None:
    found = target(folder_of("t5", tmp_path))
    with pytest.raises(ArgumentError, match=r"says no token that a decoder begins with: give --decoder-text"):
        feed(found, Given(ids=(5, 6, 7)))
    found.model.config.decoder_start_token_id = 3
    fed = feed(found, Given(ids=(5, 6, 7)))
    assert fed.inputs["decoder_input_ids"].tolist() == [[3]]
    assert {site.kind for site in recorded(found, fed).sites} == {"self", "cross"}


def test_a_picture_is_prepared_by_the_processor_beside_the_model(tmp_path: Path) -> None:
    from PIL import Image

    processor = transformers.ViTImageProcessorPil(size={"height": 64, "width": 64})
    found = target(folder_of("vit", tmp_path, processor))
    Image.fromarray(np.zeros((40, 80, 3), np.uint8)).save(tmp_path / "black.png")
    record = recorded(found, feed(found, Given(image=str(tmp_path / "black.png"))))
    assert record.calls[0].rows == 17
    with pytest.raises(MissingError, match=r"wanted a file to read; there is no file nope.png"):
        feed(found, Given(image="nope.png"))
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(DataError, match=r"wanted a picture; .*text.png is none that can be read"):
        feed(found, Given(image=str(tmp_path / "text.png")))


def test_a_sound_is_prepared_at_the_rate_the_model_wants(tmp_path: Path) -> None:
    processor = transformers.Wav2Vec2FeatureExtractor()
    found = target(folder_of("wav2vec2", tmp_path, processor))
    with wave.open(str(tmp_path / "tone.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(struct.pack("<2000h", *(int(9000 * np.sin(one / 5)) for one in range(2000))))
    fed = feed(found, Given(audio=str(tmp_path / "tone.wav")))
    assert fed.inputs["input_values"].shape == (1, 4000)  # from 8,000 to 16,000 a second
    assert recorded(found, fed).proof.exact


def test_a_name_that_is_not_there_says_what_helps_offline() -> None:
    with pytest.raises(
        MissingError, match=r"org/model is no folder here and a model of that name is not in the cache, "
    ):
        target("org/model")
    with pytest.raises(MissingError, match=r"HF_HUB_OFFLINE says not to fetch it: run `hf download org/model` where"):
        target("org/model")


def test_a_folder_without_a_config_or_a_tokenizer_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"wanted a model in "):
        target(str(tmp_path))
    found = target(folder_of("gpt2", tmp_path))
    with pytest.raises(MissingError, match=r"wanted a tokenizer in "):
        feed(found, Given(text="the king"))
    with pytest.raises(MissingError, match=r"wanted a GGUF file; there is no file nope.gguf"):
        target("nope.gguf")


def test_a_folder_that_brings_code_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "odd", "auto_map": {"AutoConfig": "odd.Config"}}')
    (tmp_path / "odd.py").write_text("raise SystemExit('was run')\n")
    with pytest.raises(
        RunError, match=r"brings code of its own to run, which is not done for a name: make the model in"
    ):
        target(str(tmp_path))


def test_without_transformers_a_name_says_what_to_install(monkeypatch: pytest.MonkeyPatch, gpt2: Path) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        MissingError, match=r"need the transformers library, .*: pip install 'edgewise\[transformers\]'"
    ):
        target(str(gpt2))


def test_a_dtype_and_a_device_are_asked_of_the_library(gpt2: Path) -> None:
    found = target(str(gpt2), dtype=torch.bfloat16)
    assert found.model.dtype == torch.bfloat16
    assert target(str(gpt2)).model.dtype == torch.float32
