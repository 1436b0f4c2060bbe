"""What an argument is for, by the names that people give it."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from edgewise.checks.infer.belonging import of_another

__all__ = ["Role", "Taken", "hides", "parameters", "role_of", "roles"]

Role = Literal[
    "query",
    "key",
    "value",
    "tokens",
    "mask",
    "square",
    "lengths",
    "positions",
    "start",
    "documents",
    "cumulative",
    "longest_document",
    "cache",
    "use_cache",
    "weights",
    "memory",
    "memory_mask",
    "causal",
    "targets",
    "switch",
    "other",
]


@dataclass(frozen=True)
class Taken:
    """An argument that a target takes."""

    name: str
    default: Any
    required: bool
    place: int | None
    """Where in order it may be given; None where only by name."""
    form: str = ""
    """What it says, where the user told; else that is found by its name and by trying."""


# Read from the first down; a name is of the first role whose pattern it has.
_ROLES: tuple[tuple[Role, tuple[str, ...]], ...] = (
    (
        "cumulative",
        (
            "cu_?seq_?lens?(_q|_k|_kv)?", "cu_lens", "cumulative(_lengths)?", "cu_doc_lens", "offsets",
        ),
    ),
    (
        "longest_document",
        (
            "max_?seq_?len(_q|_k|_kv)?", "max_length_(q|k)", "max_doc_lens?",
        ),
    ),
    (
        "documents",
        (
            "(doc(ument)?s?|seg(ment)?s?|seq(uence)?|sample|block|example|pack(ing)?)(_?(ids?|idx|index|indices))",
            "docs?", "documents", "segments", "segs?", "document_mask",
        ),
    ),
    (
        "memory_mask",
        (
            "(memory|encoder|enc|cross|context|ctx|source|kv)_?(output_|out_|attention_|attn_|key_)?(padding_|pad_)?(mask|keep|lengths?|lens)",
            "memory_key_padding_mask", "encoder_attention_mask", "context_mask", "cross_attn_mask",
        ),
    ),
    (
        "memory",
        (
            "memory", "mem", "encoder_hidden_states", "encoder_outputs?", "encoder_out", "enc_outs?",
            "enc_outputs?", "enc", "context", "ctx", "cross", "cross_states", "cross_attention_states",
            "encoder_states", "encoded", "source", "kv_input", "x_?kv", "xa",
        ),
    ),
    (
        "square",
        (
            "attn_mask", "tgt_mask", "trg_mask", "attention_bias", "attn_bias", "square_mask", "causal_mask",
            "self_attn_mask", "score_mask", "block_mask", "decoder_mask",
        ),
    ),
    (
        "mask",
        (
            r"(\w*_)?(key_)?(padding|pad)_?mask", "attention_mask", "decoder_attention_mask", "mask", "masks",
            "src_mask", "x_mask", "token_mask", "tokens_mask", "input_mask", "kv_mask", "key_mask", "seq_mask",
            "sequence_mask", "valid(_mask|_tokens|ity)?", "keep(_mask)?", "attn_keep", "real", "is_real",
            "non_?pad", "not_?pad", "is_pad", "pads?", "padding", "ignore", "hide", "hidden_mask",
            r"(?!pixel|image|video|audio|vision|patch|feature|object|bool_masked)\w+_mask", r"\w+_keep",
        ),
    ),
    (
        "lengths",
        (
            r"(\w+_)?(lengths?|lens)", "seq_?lens?", "n_real", "valid_lens?",
        ),
    ),
    (
        "start",
        (
            "start_?pos(ition)?", "pos_?offset", "position_offset", "cache_len(gth)?", "past_len(gth)?",
            "past_key_values_length", "offset", "t0", "step_index", "seen",
        ),
    ),
    (
        "positions",
        (
            "pos(ition)?s?(_?ids?|_idx|_index)?", "input_pos(itions?)?", "pos_ids", "position_indices",
            "cache_position", "token_positions?", r"(\w+_)?position_ids", "positions?_?q", "steps?_ids",
            "timesteps?",
        ),
    ),
    (
        "use_cache",
        (
            "(use|return|with|get|want)_?(kv_?)?(cache|past|state|present)(_key_values)?", "output_cache",
            "incremental",
        ),
    ),
    (
        "cache",
        (
            "past_?key_?values?", "layer_past", "pasts?", "past_kvs?", r"(\w+_)?cache", "caches", "kv_?cache",
            "kvs?", "layer_cache", "(incremental_)?states?", "cache_params", "mems", "past_states",
            "inference_params", "prev(ious)?(_state|_kv|_cache)?",
        ),
    ),
    (
        "weights",
        (
            "(output|return|need|get|with|want|give|show|ret|keep)_?(the_)?(attn|attention|attentions|attn_weights|attention_weights|weights?|scores?|probs?|probabilities|attention_scores|attention_probs|attn_probs|a|map|maps|attn_maps?)",
            "weights", "probs", "output_attentions", "return_attn", "returns_weights", "verbose_attn",
            "debug_weights",
        ),
    ),
    (
        "causal",
        (
            r"(\w+_)?is_?causal", "causal", "autoregressive",
        ),
    ),
    (
        "targets",
        (
            "targets?", "labels?", "y", "tgt_ids", "target_ids",
        ),
    ),
)  # fmt: skip
_COMPILED: tuple[tuple[Role, re.Pattern[str]], ...] = tuple(
    (role, re.compile("|".join(patterns))) for role, patterns in _ROLES
)
_QUERY = re.compile(r"q|qs|query|queries|xq|query_states|query_layer")
_KEY = re.compile(r"k|ks|key|keys|xk|key_states|key_layer")
_VALUE = re.compile(r"v|vs|value|values|xv|value_states|value_layer")
_TOKENS = re.compile(
    "|".join(
        (
            "x", "xs", "x_t", "xt", "idx", "ids", "tokens?", "in_idx", "inputs?", "input_ids", "src", "tgt", "trg",
            "h", "hidden(_states)?", "seq", "sequences?", "inp", "e", "emb(eddings?)?", "u", "decoder_input_ids",
        )
    )
)  # fmt: skip
_HIDES = re.compile(r"(?!.*(non?t?_?pad|keep|unpad)).*(pad|hide|hidden|ignore|exclude|drop|blocked|masked).*")


def hides(name: str) -> bool:
    """Whether True under this name stands for a token that is hidden, as torch's key_padding_mask has it.

    Example:
        >>> hides("key_padding_mask"), hides("attention_mask"), hides("non_pad_mask")
        (True, False, False)
    """
    return _HIDES.fullmatch(name) is not None


def parameters(function: Callable[..., Any]) -> tuple[Taken, ...]:
    """The arguments of a function or a method, without self; of one written in C, by what its text says."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _written(function)
    taken: list[Taken] = []
    found = list(found)
    if all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found):
        # What passes on whatever it is given: something to read is, first.
        return (Taken("x", None, True, 0),) * any(one.kind == one.VAR_POSITIONAL for one in found)
    for one in found:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        place = None if one.kind == one.KEYWORD_ONLY else len(taken)
        taken.append(Taken(one.name, one.default, one.default is one.empty, place))
    return tuple(taken)


def _written(function: Callable[..., Any]) -> tuple[Taken, ...]:
    """From a text like "attention(query, key, value, attn_mask=None) -> Tensor", or the schema of compiled code."""
    schema: Any = getattr(function, "schema", None)
    if schema is not None:
        several = [one for one in schema.arguments if one.name != "self"]
        return tuple(
            Taken(one.name, one.default_value, not one.has_default_value(), place) for place, one in enumerate(several)
        )
    found = re.match(r"\s*\w+\(([^()]*)\)", function.__doc__ or "")
    inside = found[1] if found else ""
    taken: list[Taken] = []
    for part in inside.split(","):
        name, equal, default = part.partition("=")
        name = name.strip().split(" ")[-1]
        if re.fullmatch(r"[A-Za-z_]\w*", name):
            known = {"None": None, "True": True, "False": False}
            taken.append(Taken(name, known.get(default.strip(), default.strip()), not equal, len(taken)))
    return tuple(taken)


def role_of(one: Taken) -> Role:
    """What an argument is for, by its name, and by its default where it is a choice of two."""
    name = one.name.lower().strip("_")
    flag = isinstance(one.default, bool)
    for role, pattern in _COMPILED:
        if not pattern.fullmatch(name):
            continue
        # A choice of two is no tensor: mask=True, cache=False are asked for, not handed over.
        if flag and role not in ("weights", "use_cache", "causal"):
            return "use_cache" if role == "cache" else "switch"
        if role == "weights" and not flag and not one.required and one.default is not None:
            return "other"
        return role
    return "switch" if flag else "other"


def roles(taken: tuple[Taken, ...]) -> dict[Role, list[Taken]]:
    """The arguments of each role, in order; what is read are query, key and value, or tokens."""
    found: dict[Role, list[Taken]] = {}
    rest = list(taken)
    first: tuple[Role, ...] = ("query", "key", "value")
    if len(rest) >= 3 and all(
        pattern.fullmatch(one.name.lower()) for pattern, one in zip((_QUERY, _KEY, _VALUE), rest[:3], strict=True)
    ):
        for role, one in zip(first, rest[:3], strict=True):
            found[role] = [one]
        rest = rest[3:]
    else:
        main = _main(rest)
        if main is not None:
            found["tokens"] = [main]
            rest.remove(main)
    decodes = bool(found.get("tokens")) and found["tokens"][0].name in _DECODED
    read = found["tokens"][0].name if "tokens" in found else ""
    others = [one.name for one in rest]
    for one in rest:
        role = _encoded(one) if decodes else role_of(one)
        found.setdefault("other" if role == "mask" and of_another(one.name, read, others) else role, []).append(one)
    return found


_DECODED = ("decoder_input_ids", "tgt", "trg", "tgt_ids", "tgt_tokens")
_ENCODED = re.compile(r"src(_ids|_tokens)?|source|input_ids|inputs?|x|input_features|input_values|enc_inputs?")
_ENCODED_MASK = re.compile(
    r"(src|source|memory|encoder)_(key_)?(padding_)?mask|attention_mask|(src|source)_(lengths?|lens)"
)


def _encoded(one: Taken) -> Role:
    """What an argument of an encoder and decoder is for: what the encoder reads is the memory."""
    if _ENCODED.fullmatch(one.name):
        return "memory"
    return "memory_mask" if _ENCODED_MASK.fullmatch(one.name) else role_of(one)


def _main(taken: list[Taken]) -> Taken | None:
    """The argument that is read: of an encoder and decoder, what the decoder reads."""
    named = {one.name: one for one in taken}
    for name in _DECODED:
        if name in named:
            return named[name]
    first = next(iter(taken), None)
    if first is not None and role_of(first) in ("other", "switch", "targets"):
        return first
    known = next((one for one in taken if _TOKENS.fullmatch(one.name.lower())), None)
    return known or next((one for one in taken if one.required), first)
