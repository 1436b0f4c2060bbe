"""Random sounds in the forms that models take them: the wave itself, or how loud each pitch is over time."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

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
    from edgewise.tracing.tiny.feeds import number

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
        yield "a sound", {"input_features": torch.randn(1, pitches, most, generator=chance)}
        yield "a sound", {"input_features": torch.randn(2, 64, pitches, generator=chance)}
    if "input_values" in takes:
        yield "a sound", {"input_values": torch.randn(2, SAMPLES, generator=chance)}
        yield "a sound", {"input_values": torch.randn(1, 1, SAMPLES, generator=chance)}
        long = number(config, 64, "max_length")
        yield "a sound", {"input_values": torch.randn(2, long, pitches, generator=chance)}
        yield "a sound", {"input_values": torch.randn(2, 1, long, pitches, generator=chance)}
    if "inputs" in takes:
        yield "a sound", {"inputs": torch.randn(2, SAMPLES, generator=chance)}
