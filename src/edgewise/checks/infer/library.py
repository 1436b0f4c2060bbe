"""What a model of the transformers library may read, from its config and the names its forward pass takes."""

import inspect
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from edgewise.checks.calls.backends import backends_of
from edgewise.checks.calls.subject import Argument, Path, Subject
from edgewise.checks.infer.beside import besides
from edgewise.checks.infer.names import Role, Taken
from edgewise.tracing.tiny import feeds
from edgewise.tracing.tiny import number as first_number

__all__ = ["is_library", "library_readings", "library_takes"]

_KEPT: tuple[Role, ...] = ("mask", "positions", "cache", "use_cache", "memory_mask", "weights")
"""Roles that its arguments have; others, such as labels or embeddings in place of ids, stay out."""
_OWN_MASKS = ("attention_mask", "decoder_attention_mask")
_HEARD = ("input_features", "input_values", "inputs", "pixel_values", "pixel_values_videos", "flattened_patches")
_HEADS = ("decoder_attention_heads", "num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads")


def is_library(module: nn.Module | None) -> bool:
    """Whether a module is a model of the library, its own or one made upon it."""
    return any(one.__module__.startswith("transformers.") for one in type(module).__mro__) and hasattr(module, "config")


def library_takes(module: nn.Module, takes: dict[Role, list[Taken]]) -> dict[Role, list[Taken]]:
    """The arguments of each role, with those that every model of the library takes without naming them."""
    found: dict[Role, list[Taken]] = {role: several for role, several in takes.items() if role in _KEPT}
    # Beside the text's own mask stand those of pictures, of sounds, and of what was answered before.
    found["mask"] = [one for one in found.get("mask", []) if one.name in _OWN_MASKS]
    found.setdefault("weights", [Taken("output_attentions", None, False, None)])
    if getattr(module.config, "add_cross_attention", False):
        found["memory"] = [one for one in takes.get("memory", []) if one.name == "encoder_hidden_states"]
    return found


def library_readings(bare: Subject, takes: dict[Role, list[Taken]], told: dict[str, Any]) -> Iterator[Subject]:
    """The subject with what it may read: text alone if it can, else the pictures or sounds of `feeds`.

    Args:
        bare: without `reads` known.
        takes: all arguments by role.
        told: what the user says; `vocabulary` and `length` count.
    """
    module = bare.module
    assert module is not None
    config: Any = module.config
    names = {one.name for several in takes.values() for one in several} | set(bare.main)
    heads = number(config, 0, *_HEADS) or None
    bare = bare.replace(
        library="transformers",
        config=config,
        positional=False,
        vocabulary=told.get("vocabulary", number(config, 99, "vocab_size")),
        pad=_pad(config),
        heads=heads,
        groups=number(config, heads or 0, "num_key_value_heads", "num_kv_heads", "n_head_kv") or None,
        head_width=number(config, 0, "head_dim", "d_kv", "kv_channels") or None,
        width=number(config, 0, "hidden_size", "d_model", "n_embd", "dim") or None,
        backends=backends_of(module),
        length=told.get("length", 8),
    )
    for subject in _offers(bare, names, module):
        yield subject
        yield subject.replace(
            fixed={**subject.fixed, "output_hidden_states": True}, output=_HIDDEN[bool(subject.memory)]
        )
    if "use_cache" in names:  # some fail at making the cache that they make unasked
        for subject in _offers(bare, names, module):
            yield subject.replace(fixed={**subject.fixed, "use_cache": False})
    if "input_ids" in names and "pixel_values" in inspect.signature(module.forward).parameters:
        for one in besides(module):
            yield bare.replace(target=one, reads="ids", main=("input_ids",))


_HIDDEN: tuple[Path, Path] = (("hidden_states", -1), ("decoder_hidden_states", -1))


def number(config: Any, default: int, *names: str) -> int:
    """As `edgewise.tracing.tiny` finds it; the default where a config will not say."""
    try:
        return first_number(config, default, *names)
    except Exception:  # some raise where a number differs by layer
        return default


def _offers(bare: Subject, names: set[str], module: nn.Module) -> Iterator[Subject]:
    decodes = "decoder_input_ids" in names
    if decodes and "input_ids" in names:
        memory = Argument("input_ids", "memory", "batch key", required=True)
        yield bare.replace(reads="ids", main=("decoder_input_ids",), memory=memory, memory_reads="ids")
    elif "input_ids" in names:
        yield bare.replace(reads="ids", main=("input_ids",))
    for _, feed in feeds(module):
        heard = next((name for name in _HEARD if name in feed), None)
        if heard is None or not isinstance(feed[heard], Tensor):
            continue
        others = {name: one for name, one in feed.items() if name not in (heard, "input_ids", "decoder_input_ids")}
        sizes = tuple(feed[heard].shape[1:])
        if decodes:
            memory = Argument(heard, "memory", "batch …", required=True)
            yield bare.replace(
                reads="ids",
                main=("decoder_input_ids",),
                memory=memory,
                memory_sizes=sizes,
                fixed={**bare.fixed, **others},
            )
            if "decoder_input_ids" in feed:  # for one that says what it heard beside what was said, not after it
                said = {"decoder_input_ids": feed["decoder_input_ids"]}
                yield bare.replace(reads="features", main=(heard,), sizes=sizes, fixed={**bare.fixed, **others, **said})
        elif "input_ids" in feed:
            yield bare.replace(reads="ids", main=("input_ids",), fixed={**bare.fixed, heard: feed[heard], **others})
        else:
            reads = "pixels" if "pixel" in heard else "features"
            yield bare.replace(reads=reads, main=(heard,), sizes=sizes, fixed={**bare.fixed, **others})


def _pad(config: Any) -> int | None:
    found = number(config, -1, "pad_token_id")
    return found if found >= 0 else None
