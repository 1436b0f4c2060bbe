"""The few architectures that read what no name of an argument tells: what each is given, as it is said here."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

__all__ = ["READS"]

Words = Callable[[int, int], Tensor]


class Noise(NamedTuple):
    """Random numbers of this shape."""

    shape: tuple[int, ...]


class Text(NamedTuple):
    """Random tokens, and in their middle so many that stand for something else."""

    token: int = 0
    many: int = 0
    rows: int = 1
    length: int = 12


class Reads(NamedTuple):
    """What a type is given."""

    said: str
    inputs: Mapping[str, Any]
    """By the name of the argument: noise, a text, or the tensor itself."""

    def made(self, chance: torch.Generator, words: Words) -> dict[str, Any]:
        """The inputs, with random numbers."""
        return {name: _made(one, chance, words) for name, one in self.inputs.items()}


def _made(one: Any, chance: torch.Generator, words: Words) -> Any:
    if isinstance(one, Noise):
        return torch.randn(one.shape, generator=chance)
    if isinstance(one, Text):
        text = words(one.rows, one.length)
        half = one.length // 2
        return torch.cat([text[:, :half], torch.full((one.rows, one.many), one.token), text[:, half:]], dim=1)
    return one


READS: dict[str, Reads] = {
    "blt": Reads("text", {"input_ids": Text(), "use_cache": False}),
    "deepseek_vl_hybrid": Reads(
        "text and an image",
        {
            "input_ids": Text(7, 16),
            "pixel_values": Noise((1, 3, 64, 64)),
            "high_res_pixel_values": Noise((1, 3, 64, 64)),
        },
    ),
    "depth_pro": Reads("an image", {"pixel_values": Noise((1, 3, 256, 256))}),
    "evolla": Reads(
        "text and a protein",
        {
            "input_ids": Text(),
            "protein_input_ids": Text(),
            "protein_attention_mask": torch.ones(1, 12, dtype=torch.long),
        },
    ),
    "fun_asr_nano": Reads(
        "text and a sound",
        {
            "input_ids": Text(5, 4),
            "input_features": Noise((1, 4, 560)),
            "input_features_mask": torch.ones(1, 4, dtype=torch.long),
        },
    ),
    "granite_docling": Reads(
        "text and an image",
        {
            "input_ids": Text(8, 1),
            "pixel_values": Noise((1, 1, 3, 64, 64)),
            "pixel_attention_mask": torch.ones(1, 1, dtype=torch.bool),
        },
    ),
    "granite_speech5_ctc": Reads("a sound", {"input_features": Noise((2, 32, 320))}),
    "idefics": Reads(
        "text and an image",
        {"input_ids": Text(), "pixel_values": Noise((1, 1, 3, 64, 64)), "image_attention_mask": torch.ones(1, 12, 1)},
    ),
    "inkling2": Reads(
        "text and an image",
        {"input_ids": Text(6, 4), "pixel_values": Noise((4096, 3)), "image_grid_thw": torch.tensor([[1, 4, 4]])},
    ),
    "inkling2_loop": Reads(
        "text and an image",
        {"input_ids": Text(6, 4), "pixel_values": Noise((4096, 3)), "image_grid_thw": torch.tensor([[1, 4, 4]])},
    ),
    "inkling_mm_model": Reads("text and an image", {"input_ids": Text(7, 1), "pixel_values": Noise((1, 2, 16, 16, 3))}),
    "instructblipvideo": Reads(
        "text and a film",
        {"input_ids": Text(30, 128), "pixel_values": Noise((1, 4, 3, 64, 64)), "qformer_input_ids": Text()},
    ),
    "kosmos-2": Reads(
        "text and an image",
        {
            "input_ids": Text(many=64),
            "pixel_values": Noise((1, 3, 64, 64)),
            "image_embeds_position_mask": torch.cat([torch.zeros(1, 6), torch.ones(1, 64), torch.zeros(1, 6)], 1),
        },
    ),
    "kyutai_speech_to_text": Reads(
        "text and a sound", {"input_ids": torch.arange(12 * 33).reshape(1, 12, 33) % 90 + 5}
    ),
    "mllama": Reads(
        "text and an image",
        {
            "input_ids": Text(),
            "pixel_values": Noise((1, 1, 4, 3, 64, 64)),
            "aspect_ratio_ids": torch.tensor([[1]]),
            "aspect_ratio_mask": torch.ones(1, 1, 4, dtype=torch.long),
            "cross_attention_mask": torch.ones(1, 12, 1, 4),
        },
    ),
    "moss_transcribe_diarize": Reads(
        "text and a sound",
        {
            "input_ids": Text(5, 16),
            "input_features": Noise((1, 80, 128)),
            "input_features_mask": torch.ones(1, 128, dtype=torch.long),
            "padding_mask": torch.ones(1, 28, dtype=torch.long),
        },
    ),
    "musicgen": Reads("text", {"input_ids": Text(rows=2), "decoder_input_ids": Text(rows=8, length=8)}),
    "musicgen_melody": Reads("text", {"input_ids": Text(rows=2), "decoder_input_ids": Text(rows=8, length=8)}),
    "omdet-turbo": Reads(
        "an image and what to find",
        {
            "pixel_values": Noise((1, 3, 64, 64)),
            "classes_input_ids": Text(rows=2),
            "classes_attention_mask": torch.ones(2, 12, dtype=torch.long),
            "tasks_input_ids": Text(),
            "tasks_attention_mask": torch.ones(1, 12, dtype=torch.long),
            "classes_structure": torch.tensor([2]),
        },
    ),
    "oneformer": Reads("an image", {"pixel_values": Noise((1, 3, 64, 64)), "task_inputs": Text(length=77)}),
    "pi0": Reads(
        "text and an image",
        {
            "input_ids": Text(),
            "state": Noise((1, 32)),
            "pixel_values": Noise((1, 1, 3, 64, 64)),
            "pixel_attention_mask": torch.ones(1, 1, dtype=torch.long),
        },
    ),
    "qwen2_audio": Reads(
        "text and a sound",
        {
            "input_ids": Text(5, 32),
            "attention_mask": torch.ones(1, 44, dtype=torch.long),
            "input_features": Noise((1, 128, 128)),
            "feature_attention_mask": torch.ones(1, 128, dtype=torch.long),
        },
    ),
    "voxtral_realtime": Reads(
        "text and a sound", {"input_ids": Text(length=16), "input_features": Noise((1, 128, 128))}
    ),
}
"""By its type; a type that is not here is offered what the names of its arguments say."""
