"""The few architectures whose configs must be told more than a size: what each is given, as it is said here."""

from typing import Any

__all__ = ["GIVEN"]

_BARK = {"input_vocab_size": 99, "output_vocab_size": 99}
_COMPASS = {name: {"rope_type": "default", "rope_theta": 10000.0} for name in ("full_attention", "sliding_attention")}

_QWEN4 = {
    "eos_token_id": 2,
    "indexer_n_heads": 4,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 16,
    "indexer_budget": 8,
    "indexer_compress_ratio": 2,
}

GIVEN: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blip-2": {"image_token_index": 30},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1},
    "aria": {"projector_patch_to_query_dict": {16: 8}},
    "kosmos-2.5": {"vision_config": {"patch_embed_hidden_size": 768}},
    "llava_next": {"image_grid_pinpoints": [[64, 64]]},
    "llava_next_video": {"image_grid_pinpoints": [[64, 64]]},
    "llava_onevision": {"image_grid_pinpoints": [[64, 64]]},
    "florence2": {"vision_config": {"projection_dim": 64}},
    "fuyu": {"image_token_id": 30},
    "muse_glimmer": {"out_hidden_size": 256},
    "muse_spark": {"out_hidden_size": 256},
    "nemo_speechlm": {"text_config": {"n_groups": 1}},
    "vipllava": {"vision_feature_layers": [-2, -1]},
    "deepseek_ocr2": {
        "text_config": {"mlp_layer_types": ["dense", "sparse"], "num_experts_per_tok": 2},
        "vision_config": {"sam_config": {"downsample_channels": [64, 64]}},
    },
    "voxtral": {"audio_token_id": 30},
    "step3p7": {"text_config": {"sliding_window": 8}},
    "bark": {"coarse_acoustics_config": _BARK, "fine_acoustics_config": _BARK, "semantic_config": _BARK},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "depth_pro": {"patch_size": 64, "intermediate_hook_ids": [1, 0]},
    "dory": {
        "num_hidden_layers": 3,
        "layer_types": ["sliding_attention", "full_attention", "full_attention"],
        "n_input_layers": 1,
        "n_recurrent_layers": 1,
        "n_output_layers": 1,
    },
    "dpt": {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "sapiens2": {
        "num_key_value_attention_heads": 2,
        "num_key_value_heads_per_layer": [4, 2],
        "head_config": {
            "upsample_out_channels": [32, 16],
            "upsample_kernel_sizes": [4, 4],
            "conv_out_channels": [16],
            "conv_kernel_sizes": [1],
        },
    },
    "molmo2": {"adapter_config": {"vision_feature_layer": [1, 0]}, "text_config": {"rope_scaling_layers": [0, 1]}},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 16}},
    "cohere_compass_text": {"rope_parameters": _COMPASS},
    "cohere_compass": {"text_config": {"rope_parameters": _COMPASS}},
    "chameleon": {"vocabulary_map": {"<image>": 30}, "vq_config": {"base_channels": 32}},
    "emu3": {"vocabulary_map": {"<image>": 30, "<|extra_200|>": 31}, "vq_config": {"base_channels": 32}},
    "diffusion_gemma": {"text_config": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 64}},
    "glm5_next": {"text_config": {"index_topk": 16}},
    "hunyuan_vl": {"text_config": {"head_dim": 16}},
    "granite4_vision": {
        "downsample_rate": "1/2",
        "deepstack_layer_map": [(0, 0), (1, 1)],
        "qformer_config": {"num_hidden_layers": 2},
    },
    "inkling_mm_model": {"vision_config": {"n_layers": 2}},
    "dots3_note": {
        "vision_config": {"adapter_in_dim": 64, "adapter_out_dim": 64},
        "audio_config": {"adapter_input_size": 64, "adapter_out_dim": 64},
    },
    "qwen4_exp_text": _QWEN4,
    "qwen4_exp": {"text_config": _QWEN4},
    "pp_doclayout_v2": {"class_thresholds": [0.5, 0.5]},
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
