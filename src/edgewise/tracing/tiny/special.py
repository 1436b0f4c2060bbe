"""The few architectures whose configs must be told more than a size: what each is given, as it is said here."""

from typing import Any

__all__ = ["GIVEN"]

GIVEN: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blip-2": {"image_token_index": 30},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1},
    "esm": {"vocab_size": 99, "pad_token_id": 1},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"], "mamba_d_head": 32},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "instructblip": {"image_token_index": 30},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"num_heads": 4, "head_dim": 32, "n_groups": 1},
    "ministral": {"head_dim": 16},
    "moonshine_streaming": {"num_key_value_heads": 4},
    "nemotron_h": {"n_groups": 1},
    "nemotron": {"num_key_value_heads": 2},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "wav2vec2-bert": {"vocab_size": 99},
    "wav2vec2-conformer": {"vocab_size": 99},
    "xmod": {"default_language": "en_XX"},
}
"""Fields of a config, by its type; a type that is not here is made small by the names of its fields alone."""
