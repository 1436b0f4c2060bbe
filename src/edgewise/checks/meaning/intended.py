"""What a model of the transformers library was meant to read, as far as its config and its modules say."""

import re
from typing import Any, NamedTuple

from torch import nn

from edgewise.checks.calls.subject import Subject
from edgewise.graphs import Graph, causal, chunks, full, window

__all__ = ["Intent", "chooses", "intended", "mixes_otherwise", "said"]

_CAUSAL_NAMES = ("ForCausalLM", "LMHeadModel")
_OTHER_WAYS = ("xlnet", "xlm", "flaubert", "prophetnet")
"""Types with such a class that read both ways unless they are told otherwise in a call."""

_WINDOWED, _CHUNKED, _WHOLE = ("sliding_attention", "local"), ("chunked_attention",), ("full_attention", "global")
_ENCODERS = (
    "encoder",
    "vision",
    "visual",
    "audio",
    "image",
    "video",
    "tower",
    "qformer",
    "perceiver",
    "text_model_enc",
)


_CHOOSING = re.compile(r"index(er)?_(top_?k|budget)")
"""Numbers of a config that say how many keys a query picks."""


class Intent(NamedTuple):
    """A graph and who says so."""

    graph: Graph | None
    """None where a direction is known and no more."""
    causal: bool
    says: str
    sure: bool
    """Whether it is written down, and no more than a name that is a hint."""


def intended(subject: Subject, site: str = "", kind: str = "self", layer: int | None = None) -> Intent | None:
    """What a site is meant to read, or the whole model where no site is named; None where nothing says.

    Args:
        subject: the target.
        site: the path of the module of attention.
        kind: "self" or "cross".
        layer: its number.
    """
    config = subject.config
    if subject.library != "transformers" or config is None:
        return None
    if kind == "cross":
        return Intent(full(), False, "cross attention reads all of its memory", True)
    path = site.lower().split(".")
    several = bool(getattr(config, "is_encoder_decoder", False))
    if several and site and not any("decoder" in part for part in path):
        both = Intent(full(), False, "the encoder of an encoder and decoder reads both ways", True)
        return _of_layer(subject, config, site, layer, both)
    if not several and _in_encoder(path) and not _is_decoder(config, path):
        return Intent(full(), False, "an encoder reads both ways", False)
    direction = _direction(subject, config)
    if direction is None or not site:
        return direction
    return _of_layer(subject, config, site, layer, direction)


def chooses(config: Any, tokens: int) -> bool:
    """Whether a config says that layers pick the keys that they read by an index of scores: fewer than there are."""
    parts = [one for one in (config, getattr(config, "text_config", None)) if hasattr(one, "__dict__")]
    many = (value for one in parts for name, value in vars(one).items() if _CHOOSING.fullmatch(name))
    return any(isinstance(one, int) and one < tokens for one in many)


def said(config: Any, name: str) -> Any:
    """What a config says under a name; None where it says nothing, or that it differs by layer."""
    try:
        return getattr(config, name, None)
    except Exception:  # the library raises an error of its own there
        return None


def mixes_otherwise(config: Any) -> bool:
    """Whether a config names layers that are no attention over all keys."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or ()
    return any(one not in (*_WINDOWED, *_CHUNKED, *_WHOLE, "attention") for one in kinds)


def _direction(subject: Subject, config: Any) -> Intent | None:
    name = type(subject.module).__name__
    both = getattr(config, "use_bidirectional_attention", None)
    if both in (True, "all"):
        return Intent(full(), False, f"config.use_bidirectional_attention={both}", True)
    if getattr(config, "is_encoder_decoder", False):
        return Intent(causal(), True, "the decoder of an encoder and decoder", True)
    said = getattr(config, "is_decoder", None)
    if said is True:
        return Intent(causal(), True, "config.is_decoder=True", True)
    if said is False:
        return None if any(one in name for one in _CAUSAL_NAMES) else Intent(full(), False, "is_decoder=False", False)
    if any(one in name for one in _CAUSAL_NAMES) and getattr(config, "model_type", "") not in _OTHER_WAYS:
        flags = [one.is_causal for one in _modules(subject) if isinstance(getattr(one, "is_causal", None), bool)]
        sure = bool(flags) and all(flags)
        also = " and is_causal=True of its modules" if sure else ""
        return Intent(causal(), True, f"the name of {name}{also}", sure)
    return None


def _in_encoder(path: list[str]) -> bool:
    return any(part.startswith(_ENCODERS) for part in path[:-1]) and not path[0].startswith("text")


def _is_decoder(config: Any, path: list[str]) -> bool:
    """Whether layers in a part called "encoder" are those of a decoder, as in BERT and its heirs."""
    others = any(part.startswith(_ENCODERS) and part != "encoder" for part in path[:-1])
    return getattr(config, "is_decoder", False) is True and not others


def _of_layer(subject: Subject, config: Any, site: str, layer: int | None, direction: Intent) -> Intent:
    """The direction, and the window or chunks of one layer."""
    module = subject.module
    own = module.get_submodule(site) if module is not None and site in dict(module.named_modules()) else None
    config = getattr(own, "config", None) or config
    types = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None)
    many = said(config, "sliding_window") or said(config, "window_size")
    if types and layer is not None and layer < len(types) and not direction.causal and types[layer] in _WINDOWED:
        # Whether a window over both sides counts its ends is told nowhere.
        return Intent(None, False, f"{direction.says}; layer_types[{layer}]={types[layer]}", False)
    if not types or layer is None or layer >= len(types) or not direction.causal:
        if direction.causal and type(many) is int and many > 0:
            return Intent(window(many), True, f"a window of {many} in the config", False)
        return direction
    kind = types[layer]
    if kind in _WINDOWED and isinstance(many, int):
        return Intent(window(many), True, f"layer_types[{layer}]={kind}, a window of {many}", direction.sure)
    size = said(config, "attention_chunk_size")
    if kind in _CHUNKED and isinstance(size, int):
        return Intent(causal() & chunks(size), True, f"layer_types[{layer}]={kind}, chunks of {size}", direction.sure)
    if kind in _WHOLE:
        return direction
    return Intent(None, direction.causal, f"{direction.says}; layer_types[{layer}]={kind}", False)


def _modules(subject: Subject) -> list[nn.Module]:
    return [] if subject.module is None else list(subject.module.modules())
