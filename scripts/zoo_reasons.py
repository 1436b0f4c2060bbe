"""What a row of the table cannot say of itself: what stands in attention's place, and why a few are not seen whole."""

__all__ = ["INSTEAD", "WHY"]

_CONVOLUTIONS = "convolutions alone"
_STATE = "a state that each token changes"

_NETS = """
bit convnext convnextv2 dinov3_convnext efficientnet hgnet_v2 mobilenet_v1 mobilenet_v2 pp_lcnet pp_lcnet_v4
pp_ocrv5_mobile_det pp_ocrv6_small_det regnet resnet superpoint textnet upernet uvdoc
"""

INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        _NETS.split(),
        _CONVOLUTIONS,
    ),
    **dict.fromkeys(("falcon_mamba", "mamba", "mamba2", "rwkv", "xlstm"), _STATE),
    "fnet": "a Fourier transform over the tokens",
    "focalnet": "convolutions that gather what is around, gated",
    "mobilevitv2": "one score a token, from the token alone; no product of queries and keys",
    "mra": "its kernel runs on a GPU alone; elsewhere the library puts zeros in attention's place",
    "poolformer": "an average over neighbours",
    "swiftformer": "one score a token, added up over the tokens; no product of queries and keys",
    "timm_wrapper": "any model of timm's; the one that its config names is a convolutional net",
    "yoso": "the chance that hashes of query and key meet, in the place of a softmax",
}
"""What an architecture without softmax attention over tokens has in its place."""

_CHUNKS = (
    "local attention in overlapping chunks: scores are laid out by distance before their softmax (pad, as_strided), "
    "which is not followed"
)
_DRAFT = "drafts for a larger model, whose keys and values it reads: its config cannot be made without that model's"
_NO_TOWER = "its config as the class makes it names no picture tower of timm's that fits it"
_HALF_A_NET = "a convolutional net whose config as the class makes it is not whole"
WHY: dict[str, str] = {
    "apertus1p5": "its audio tokens lie beyond 266,000: no small vocabulary holds them",
    "edgetam": _NO_TOWER,
    "edgetam_video": _NO_TOWER,
    "fast_vlm": _NO_TOWER,
    "gemma3n": "its picture tower is one of timm's, of 300 million parameters; its text alone is `gemma3n_text`",
    "gemma4_assistant": _DRAFT,
    "gemma4_unified_assistant": _DRAFT,
    "llama4": "the library fails on its own output (no image_outputs); its text alone is `llama4_text`",
    "perception_lm": _NO_TOWER,
    "pp_ocrv5_server_det": _HALF_A_NET,
    "pp_ocrv6_medium_det": _HALF_A_NET,
    "pp_ocrv6_small_det": _HALF_A_NET,
    "timm_backbone": "a shell around any model of timm's, and none is named",
    "led": f"encoder: {_CHUNKS}; decoder and cross-attention are captured",
    "longformer": _CHUNKS,
    "omdet-turbo": "its towers, found each in another place of its config, were not made small so that they fit",
    "pegasus_x": (
        "encoder: scores against global tokens and against the own block share one softmax and are parted again after "
        "it; decoder and cross-attention are captured"
    ),
}
"""What is said of a row in the place of what the trace says."""
