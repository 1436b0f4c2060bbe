"""The few architectures whose configs must be told more than a size: what each is given before shrinking."""

from typing import Any

__all__ = ["config_of"]

_GIVEN: dict[str, dict[str, Any]] = {
    "blip-2": {"image_token_index": 98},
    "mamba2": {"num_heads": 4, "head_dim": 32, "hidden_size": 64},
    "wav2vec2-bert": {"vocab_size": 99},
    "wav2vec2-conformer": {"vocab_size": 99},
    "esm": {"vocab_size": 99},
}


def config_of(type_name: str, config_class: Any) -> Any:
    """The full-sized config of a type, as it is before it is made small."""
    return config_class(**_GIVEN.get(type_name, {}))
