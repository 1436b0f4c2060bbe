"""Random sounds in the forms that models take them: the wave itself, or how loud each pitch is over time."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from edgewise.tracing.tiny.numbers import number

__all__ = ["sounds"]

SAMPLES = 4000
"""A quarter of a second."""


def sounds(model: nn.Module, takes: Mapping[str, Any], chance: torch.Generator) -> Iterator[tuple[str, dict[str, Any]]]:
    """Offers of sounds, each with what it is in words; none where the model takes none.

    Args:
        model: from the transformers library.
        takes: the parameters of its forward pass.
        chance: random numbers.
    """
    config = model.config
    pitches = number(
        config,
        80,
        "num_mel_bins",
        "input_feat_per_channel",
        "feature_size",
        "input_feat_size",
        "input_dim",
        "feature_projection_input_dim",
        "n_mels",
    )
    most = 2 * number(config, 64, "max_source_positions")
    if "input_features" in takes:
        for length in dict.fromkeys((most, 200)):
            heard = torch.randn(1, pitches, length, generator=chance)
            yield "a sound", {"input_features": heard, **_whole(takes, length)}
        yield "a sound", {"input_features": torch.randn(1, 64, pitches, generator=chance), **_whole(takes, 64)}
        yield "a sound", {"input_features": torch.randn(2, 64, pitches, generator=chance)}
    if "input_values" in takes:
        yield "a sound", {"input_values": torch.randn(2, SAMPLES, generator=chance)}
        yield "a sound", {"input_values": torch.randn(1, 1, SAMPLES, generator=chance)}
        long = number(config, 64, "max_length")
        yield "a sound", {"input_values": torch.randn(2, long, pitches, generator=chance)}
        yield "a sound", {"input_values": torch.randn(2, 1, long, pitches, generator=chance)}
    if "inputs" in takes:
        yield "a sound", {"inputs": torch.randn(2, SAMPLES, generator=chance)}


def _whole(takes: Mapping[str, Any], length: int) -> dict[str, torch.Tensor]:
    """Says that all of a sound is heard, where the model wants to know."""
    names = ("input_features_mask", "feature_attention_mask")
    return {name: torch.ones(1, length, dtype=torch.long) for name in names if name in takes}
