"""What a module may read: ids of a vocabulary, floats of a width, or pictures; by the shapes of its parameters."""

import re
from collections.abc import Iterator
from typing import Any

from torch import nn

from edgewise.checks.calls.subject import Subject

__all__ = ["heads_of", "readings", "widths"]

LENGTHS = (5, 8, 16)
_IDS = re.compile(r".*(idx|ids|tokens?)|input_ids|tokens?|src|tgt|trg")
_GUESSED = (16, 32, 64, 8)


def readings(subject: Subject, told: dict[str, Any]) -> Iterator[Subject]:
    """The subject with everything that its target may read, the likeliest first.

    Args:
        subject: without `reads` known.
        told: what the user says of it; `reads`, `width`, `vocabulary` and `length` narrow the search.
    """
    module = subject.module
    ids_first = _IDS.fullmatch(subject.main[0].lower()) is not None
    kinds = (
        [told["reads"]]
        if "reads" in told
        else ["ids", "floats", "pixels"]
        if ids_first
        else ["floats", "ids", "pixels"]
    )
    for length in [told["length"]] if "length" in told else LENGTHS:
        for kind in kinds:
            if kind == "ids":
                for vocabulary in [told["vocabulary"]] if "vocabulary" in told else _vocabularies(module):
                    yield subject.replace(reads="ids", vocabulary=vocabulary, length=length)
            elif kind == "floats":
                for width in [told["width"]] if "width" in told else widths(module):
                    yield subject.replace(reads="floats", width=width, length=length)
            elif length == LENGTHS[0] or "length" in told:
                for sizes in _pictures(module):
                    yield subject.replace(reads="pixels", sizes=sizes, length=length)


def _vocabularies(module: nn.Module | None) -> list[int]:
    """Of embeddings, the largest first: what is not the vocabulary's is soon out of range."""
    found = {one.num_embeddings for one in _modules(module) if isinstance(one, nn.Embedding)}
    return sorted(found, reverse=True)


def widths(module: nn.Module | None) -> list[int]:
    """The numbers of channels that layers of a module read, in order, then those of its bare parameters."""
    found: list[int] = []
    for one in _modules(module):
        for name in ("embed_dim", "d_model", "in_features", "normalized_shape"):
            value = getattr(one, name, None)
            value = value[-1] if isinstance(value, tuple) and value else value
            if type(value) is int:
                found.append(value)
    if module is not None:
        found += [size for one in module.parameters() for size in reversed(one.shape)]
    return [one for one in dict.fromkeys([*found, *_GUESSED]) if one > 1][:12]


def _pictures(module: nn.Module | None) -> list[tuple[int, ...]]:
    first = next((one for one in _modules(module) if isinstance(one, nn.Conv2d)), None)
    if first is None:
        return []
    return [(first.in_channels, side, side) for side in (32, 224, 64, 16, 28)]


def heads_of(module: nn.Module | None) -> tuple[int | None, int | None]:
    """How many heads and key heads a module says it has, by the names people use, in the first part that says it."""
    for one in _modules(module):
        heads = _number(one, _HEADS)
        if heads is not None and not type(one).__name__.startswith("Conv"):
            return heads, _number(one, _GROUPS)
    return None, None


_HEADS = (
    *("num_heads", "n_heads", "n_head", "heads", "num_attention_heads", "nhead", "head_count", "query_heads"),
    *("n_q_heads", "num_query_heads", "h", "H"),
)
_GROUPS = (
    *("num_key_value_heads", "n_kv_heads", "n_kv_head", "num_kv_heads", "kv_heads", "num_kv_groups", "groups"),
    *("n_groups", "g", "G"),
)


def _number(module: nn.Module, names: tuple[str, ...]) -> int | None:
    values = (vars(module).get(name) for name in names)
    return next((one for one in values if type(one) is int and one > 0), None)


def _modules(module: nn.Module | None) -> list[nn.Module]:
    return [] if module is None else list(module.modules())
