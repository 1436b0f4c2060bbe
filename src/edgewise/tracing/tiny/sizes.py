"""How small each number of a config becomes, by its name; numbers whose name says nothing stay as they are.

Names are read from the first rule down. A rule only ever makes a number smaller.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

__all__ = ["LAYERS", "LEVELS", "SPECIAL", "Level", "is_layers", "is_token", "sections", "smaller", "token_number"]

LAYERS = 2
SPECIAL = 40
"""Numbers of tokens below this are those that a config gives a meaning to."""


class Level(NamedTuple):
    """How much is shrunk."""

    name: str
    width: int | None
    """Of the whole model, of which a head has a quarter; None leaves every width as it is."""
    grouped: bool = False
    """Whether two query heads share a key head, where the architecture knows of that."""
    words: bool = True
    """Whether vocabulary and pictures become small."""

    @property
    def head(self) -> int:
        """The width of one of four heads."""
        return (self.width or 4 * 64) // 4


LEVELS = (
    Level("small", 64, grouped=True),
    Level("small", 64),
    Level("wider", 512),
    Level("as wide as it is", None),
    Level("two layers of it", None, words=False),
)


Size = int | Literal["width", "double", "head", "two heads", "groups"]


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    size: Size
    kind: Literal["width", "words", "depth"]


def _rule(pattern: str, size: Size, kind: Literal["width", "words", "depth"] = "width") -> _Rule:
    return _Rule(re.compile(pattern), size, kind)


_RULES = (
    _rule(r"type_vocab_size|.*codebook_size|num_embeddings", 10**9),
    _rule(r"num_mel_bins|feature_size|.*(channels|kernel_size|stride)", 10**9),
    _rule(r".*vocab_size(_per_layer_input)?|vocabulary_size", 99, "words"),
    _rule(r".*hash_byte_group_vocab", 99, "words"),
    _rule(r"(pretrain_)?image_size|img_size|input_image_size|resolution", 64, "words"),
    _rule(r"(spatial_)?patch_size", 16, "words"),
    _rule(r"(num_)?(object_)?queries|num_queries", 8, "words"),
    _rule(r"upsample_initial_channel", 64, "words"),
    _rule(r"mm_tokens_per_image", 4, "words"),
    _rule(r"num_frames|frames_per_clip", 4, "words"),
    _rule(r"(sliding_window|local_attention|attention_chunk_size|attention_window)(_size)?", 8, "words"),
    _rule(r"max_source_positions|max_length", 64, "words"),
    _rule(r"num_experts_per_tok.*|.*top_?k(_experts)?|moe_k|num_experts_per_token|experts_per_token", 2),
    _rule(r"n_group|topk_group|moe_num_shared_experts|n_shared_experts", 1),
    _rule(r"(num_|n_|moe_num_|num_local_|n_routed_|num_routed_)experts|moe_num_experts|ffn_num_experts", 4),
    _rule(r".*(_period|_interval|_freq|_step)", 2, "depth"),
    _rule(r".*(attn|attention|expert|moe)_.*offset", 1, "depth"),
    _rule(r"first_k_dense_replace|num_dense_layers|num_nextn_predict_layers|num_kv_shared_layers|num_hash_layers", 1),
    _rule(r".*(key_value_heads|kv_heads|n_head_kv|num_kv_groups|attention_groups)", "groups"),
    _rule(r".*(attention_heads|num_heads|n_heads?|encoder_heads|decoder_heads|nhead|index_n_heads)", 4),
    _rule(r"mamba_(d_head|head_dim)", 32),
    _rule(r"qk_head_dim", "two heads"),
    _rule(r".*(head_dim|head_size|dim_head|d_head|d_kv|kv_channels)", "head"),
    _rule(r".*lora_rank", 32),
    _rule(
        r".*(intermediate|ffn|feed_?forward|mlp|d_ff|n_inner|linear_units|filter_size)(_?(size|dim|hidden_size))?",
        "double",
    ),
    _rule(r".*(hidden_size|hidden_dim|embed_dim|embedding_size|embedding_dim|embed_proj_dim|emb_dim)(_\w+)?", "width"),
    _rule(r"d_model|n_embd|dim|width|out_dim|output_dim|projection_dim|proj_dim|.*projection_size|d_embed", "width"),
    _rule(r"d_latents", "width"),
)
_LAYERS = re.compile(r"(\w+_)?(layers|num_blocks|depth)|n_layer|num_layer|layers_num|\w+_layers_num")
_NOT_LAYERS = re.compile(
    r".*(dense|shared|predict|top_down|proj|index|first|last|head|mlp|window|nextn|hash|feature)_?.*layers"
)
_TOKEN = re.compile(r"(.*_)?token_(id|index|ids)|.*_id|.*(ids|index)_of_\w+|forced_\w+_token_id|blank_token")
_FIRST: Mapping[str, int] = MappingProxyType({"pad": 0, "bos": 1, "eos": 2, "decoder_start": 1, "unk": 3, "mask": 4})


def smaller(name: str, value: int, level: Level) -> int:
    """What a number of this name becomes.

    Example:
        >>> smaller("hidden_size", 4096, LEVELS[0]), smaller("rope_theta", 10000, LEVELS[0])
        (64, 10000)
    """
    for rule in _RULES:
        if rule.pattern.fullmatch(name):
            kept = (rule.kind == "width" and level.width is None) or (rule.kind == "words" and not level.words)
            return value if kept else min(value, _size(rule.size, level))
    return value


def _size(size: Size, level: Level) -> int:
    if isinstance(size, int):
        return size
    width = level.width or 10**9
    groups = 2 if level.grouped else 4
    return {
        "width": width,
        "double": 2 * width,
        "head": level.head,
        "two heads": 2 * level.head,
        "groups": groups,
    }[size]


def is_layers(name: str) -> bool:
    """Whether a number of this name says how many layers there are."""
    return _LAYERS.fullmatch(name) is not None and _NOT_LAYERS.fullmatch(name) is None


def is_token(name: str) -> bool:
    """Whether a number of this name is that of a token."""
    return _TOKEN.fullmatch(name) is not None


def token_number(name: str, known: dict[str, int]) -> int:
    """A number below `SPECIAL` for a token: the same in every part of a config, and no two tokens share one.

    Args:
        name: of the field.
        known: the numbers given so far, added to.
    """
    stem = re.sub(r"_?(token_)?(id|index|ids)$", "", name)
    if stem not in known:
        known[stem] = _FIRST.get(stem, 5 + len(known)) if len(known) < SPECIAL - 5 else SPECIAL - 1
    return known[stem]


def sections(value: Any, half: int) -> Any:
    """The parts of a rotary head of which each turns by another position, in the same proportion."""
    if not isinstance(value, list | tuple) or not value or sum(value) <= half:
        return value
    cut = [max(1, one * half // sum(value)) for one in value]
    cut[0] += half - sum(cut)
    return cut
