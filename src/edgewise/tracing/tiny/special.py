"""The few architectures whose configs must be told more than a size: what each is given, as it is said here."""

from typing import Any

__all__ = ["GIVEN", "PARTS"]

_BARK = {"input_vocab_size": 99, "output_vocab_size": 99}
_COMPASS = {name: {"rope_type": "default", "rope_theta": 10000.0} for name in ("full_attention", "sliding_attention")}

_QWEN4 = {
    "eos_token_id": 2,
    "ngram_vocab_size_base": 512,
    "indexer_n_heads": 4,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 16,
    "indexer_budget": 8,
    "indexer_compress_ratio": 2,
}

PARTS = {"bark": "semantic", "qwen2_5_omni": "thinker", "qwen3_omni_moe": "thinker"}
"""The part of a model that runs, of those that only write and have no forward pass of their own."""

GIVEN: dict[str, dict[str, Any]] = {
    "align": {
        "projection_dim": 80,
        "vision_config": {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
    },
    "apertus1p5": {"text_config": {"vocab_size": 266441}, "audio_config": {"hidden_size": 512, "codebook_dim": 512}},
    "aria": {"projector_patch_to_query_dict": {16: 8}},
    "bamba": {"attn_layer_indices": [1]},
    "bark": {"coarse_acoustics_config": _BARK, "fine_acoustics_config": _BARK, "semantic_config": _BARK},
    "blip-2": {"image_token_index": 30},
    "chameleon": {
        "vocabulary_map": {"<image>": 30, "IMGIMGAZ": 31, "IMGIMGBZ": 32},
        "image_token_id": 30,
        "vq_config": {"base_channels": 32, "num_embeddings": 2},
    },
    "cohere_compass": {"text_config": {"rope_parameters": _COMPASS}},
    "cohere_compass_text": {"rope_parameters": _COMPASS},
    "cvt": {"depth": [1, 2, 3]},
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8.0}},
    "deepseek_ocr2": {
        "text_config": {"mlp_layer_types": ["dense", "sparse"], "num_experts_per_tok": 2},
        "vision_config": {"sam_config": {"downsample_channels": [64, 64]}},
    },
    "deepseek_v2": {"num_experts_per_tok": 2},
    "depth_pro": {"patch_size": 64, "intermediate_hook_ids": [1, 0]},
    "diffusion_gemma": {"text_config": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 64}},
    "donut-swin": {"image_size": 128, "window_size": 4},
    "dory": {
        "num_hidden_layers": 3,
        "layer_types": ["sliding_attention", "full_attention", "full_attention"],
        "n_input_layers": 1,
        "n_recurrent_layers": 1,
        "n_output_layers": 1,
    },
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1},
    "dots3_note": {
        "vision_config": {"adapter_in_dim": 64, "adapter_out_dim": 64},
        "audio_config": {"adapter_input_size": 64, "adapter_out_dim": 64},
    },
    "dpt": {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]},
    "efficientnet": {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
    "emu3": {
        "vocabulary_map": {
            "<image>": 30,
            "<|extra_200|>": 31,
            "<|visual token 000000|>": 32,
            "<|visual token 000001|>": 33,
        },
        "image_token_id": 30,
        "vq_config": {"base_channels": 32, "hidden_size": 128, "codebook_size": 2},
    },
    "ernie4_5_vl_moe": {
        "text_config": {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default", "mrope_section": [3, 3, 2]}}
    },
    "esm": {"vocab_size": 99, "pad_token_id": 1},
    "florence2": {"vision_config": {"projection_dim": 64}},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 16}},
    "fuyu": {"image_token_id": 30},
    "glm5_next": {"text_config": {"index_topk": 16}},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gradium_phonon_tts": {"flow_head_config": {"condition_dim": 64}},
    "granite4_vision": {
        "image_grid_pinpoints": [[64, 64]],
        "downsample_rate": "1/2",
        "deepstack_layer_map": [(0, 0), (1, 1)],
        "qformer_config": {"num_hidden_layers": 2},
    },
    "granite_speech5_ctc": {"encoder_config": {"num_key_value_heads": 4}},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"], "mamba_d_head": 32},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "hunyuan_vl": {"text_config": {"head_dim": 16}},
    "inkling_mm_model": {"vision_config": {"n_layers": 2}},
    "instructblip": {"image_token_index": 30},
    "instructblipvideo": {"video_token_index": 30},
    "kosmos-2.5": {"vision_config": {"patch_embed_hidden_size": 768}},
    "kyutai_speech_to_text": {"codec_config": {"hidden_size": 64, "upsample_groups": 64}},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "llama4": {
        "vision_config": {
            "intermediate_size": 256,
            "projector_input_dim": 64,
            "projector_output_dim": 64,
            "vision_output_dim": 64,
        }
    },
    "llava_next": {"image_grid_pinpoints": [[64, 64]]},
    "llava_next_video": {"image_grid_pinpoints": [[64, 64]]},
    "llava_onevision": {"image_grid_pinpoints": [[64, 64]]},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "mamba2": {"num_heads": 4, "head_dim": 32, "n_groups": 1},
    "ministral": {"head_dim": 16},
    "mllama": {"vision_config": {"vision_output_dim": 128}},
    "molmo2": {"adapter_config": {"vision_feature_layer": [1, 0]}, "text_config": {"rope_scaling_layers": [0, 1]}},
    "moonshine_streaming": {"num_key_value_heads": 4},
    "muse_glimmer": {"out_hidden_size": 256},
    "muse_spark": {"out_hidden_size": 256},
    "nemo_speechlm": {"text_config": {"n_groups": 1}},
    "nemotron": {"num_key_value_heads": 2},
    "nemotron_h": {"n_groups": 1},
    "nemotron_h_omni": {
        "text_config": {"n_groups": 1},
        "image_token_id": 30,
        "video_token_id": 31,
        "audio_token_id": 32,
    },
    "omdet-turbo": {
        "apply_layernorm_after_vision_backbone": False,
        "backbone_config": {"hidden_sizes": [64] * 4, "out_indices": [2, 3, 4]},
        "encoder_in_channels": [64] * 3,
        "vision_features_channels": [256] * 3,
        "text_projection_in_dim": 64,
        "text_projection_out_dim": 128,
        "class_embed_dim": 128,
    },
    "pix2struct": {"vision_config": {"patch_embed_hidden_size": 768}},
    "pocket_tts": {"flow_head_config": {"condition_dim": 64}},
    "pp_doclayout_v2": {
        "class_thresholds": [0.5, 0.5],
        "class_order": [0, 1],
        "reading_order_config": {"vocab_size": 512},
    },
    "qwen2_5_omni": {"token2wav_config": {"bigvgan_config": {"upsample_initial_channel": 64}}},
    "qwen3_omni_moe": {
        "talker_config": {"spatial_merge_size": 2, "text_config": {"shared_expert_intermediate_size": 64}}
    },
    "qwen4_exp": {"text_config": _QWEN4},
    "qwen4_exp_text": _QWEN4,
    "recurrent_gemma": {"num_hidden_layers": 3},
    "sam": {"vision_config": {"output_channels": 64, "num_pos_feats": 32}},
    "sam2": {
        "vision_config": {
            "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
            "backbone_config": {"global_attention_blocks": [4]},
        }
    },
    "sam2_video": {
        "vision_config": {
            "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
            "backbone_config": {"global_attention_blocks": [4]},
        }
    },
    "sam3_tracker": {"vision_config": {"backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]]}},
    "sam_hq": {"vision_config": {"output_channels": 64, "num_pos_feats": 32}, "mask_decoder_config": {"vit_dim": 64}},
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
    "step3p7": {"text_config": {"sliding_window": 8}},
    "swin": {"image_size": 128, "window_size": 4},
    "swin2sr": {"image_size": 16},
    "unlimited_ocr": {"vision_config": {"sam_config": {"downsample_channels": [64, 64]}}},
    "vibevoice": {"audio_config": {"num_filters": 4}, "semantic_model_config": {"num_filters": 4}},
    "vibevoice_asr": {
        "acoustic_tokenizer_encoder_config": {"num_filters": 4},
        "semantic_tokenizer_encoder_config": {"num_filters": 4},
    },
    "vipllava": {"vision_feature_layers": [-2, -1]},
    "voxtral": {"audio_token_id": 30},
    "wav2vec2-bert": {"vocab_size": 99},
    "wav2vec2-conformer": {"vocab_size": 99},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "attention_hidden_size": 128,
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
    },
    "zoedepth": {"bottleneck_features": 64},
}
"""Fields of a config, by its type; a type that is not here is made small by the names of its fields alone."""
