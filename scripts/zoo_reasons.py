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
    "yoso": "hashes of queries and keys that meet or do not",
}
"""What an architecture without softmax attention over tokens has in its place."""

_CHUNKS = (
    "local attention in overlapping chunks: scores are laid out by distance before their softmax (pad, as_strided), "
    "which is not followed"
)
WHY: dict[str, str] = {
    "led": f"encoder: {_CHUNKS}; decoder and cross-attention are captured",
    "longformer": _CHUNKS,
    "pegasus_x": (
        "encoder: scores against global tokens and against the own block share one softmax and are parted again after "
        "it; decoder and cross-attention are captured"
    ),
}
"""What is said of a row in the place of what the trace says."""
