"""What a small model may be given to read: found from the names its forward pass takes, and its config.

There is no list of models here. A model that reads several things is offered them all at first, then fewer; the first
offer that it accepts is taken.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from edgewise.tracing.tiny.around import around
from edgewise.tracing.tiny.numbers import LENGTH, number, words
from edgewise.tracing.tiny.pictures import pictures
from edgewise.tracing.tiny.reads import READS
from edgewise.tracing.tiny.sounds import sounds

__all__ = ["feeds"]

Feed = dict[str, Any]


def feeds(model: nn.Module, seed: int = 0) -> Iterator[tuple[str, Feed]]:
    """Offers of named inputs, the fullest first, each with what it is in words.

    Args:
        model: from the transformers library.
        seed: of the random numbers in them.
    """
    chance = torch.Generator().manual_seed(seed)
    takes = inspect.signature(model.forward).parameters
    own = READS.get(getattr(model.config, "model_type", ""))
    if own is not None:
        yield own.said, own.made(chance, lambda rows, length: words(model, rows, chance, length))
    reads = "input_ids" in takes
    for said, seen in pictures(model, takes, chance):
        if reads:
            yield f"text and {said}", {**around(model, seen, chance), **seen, **_others(model, takes, chance, 1)}
            yield f"text and {said}", {"input_ids": words(model, 2, chance), **seen, **_others(model, takes, chance)}
        else:
            yield said, {**seen, **_others(model, takes, chance)}
    for said, heard in sounds(model, takes, chance):
        if reads:
            yield f"text and {said}", {**around(model, heard, chance), **heard, **_others(model, takes, chance, 1)}
            yield f"text and {said}", {"input_ids": words(model, 2, chance), **heard, **_others(model, takes, chance)}
        yield said, {**heard, **_others(model, takes, chance)}
    if reads:
        several = {"input_ids": words(model, 2, chance), **_others(model, takes, chance)}
        yield "text", several
        yield "text", {"input_ids": words(model, 2, chance)}
    main = getattr(model, "main_input_name", None)
    if isinstance(main, str) and main not in ("input_ids", "pixel_values") and main in takes:
        yield main, {main: torch.randn(2, LENGTH, number(model.config, 64, "d_model", "hidden_size"), generator=chance)}


def _others(model: nn.Module, takes: Any, chance: torch.Generator, rows: int = 2) -> Feed:
    """What else a forward pass wants."""
    found: Feed = {}
    if "decoder_input_ids" in takes:
        found["decoder_input_ids"] = words(model, rows, chance, LENGTH - 4)
    for name in ("qformer_input_ids", "classes_input_ids", "tasks_input_ids"):
        if name in takes:
            found[name] = words(model, rows, chance)
    if "bbox" in takes:
        found["bbox"] = torch.zeros(rows, LENGTH, 4, dtype=torch.long)
    for name, parameter in takes.items():
        if parameter.default is inspect.Parameter.empty and name == "task_inputs":
            found[name] = words(model, rows, chance)
    return found
