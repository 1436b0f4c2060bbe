"""What a small model may be given to read: found from the names its forward pass takes, and its config.

There is no list of models here. A model that reads several things is offered them all at first, then fewer; the first
offer that it accepts is taken.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.tracing.tiny.pictures import pictures
from edgewise.tracing.tiny.sizes import SPECIAL
from edgewise.tracing.tiny.sounds import sounds

__all__ = ["feeds", "number", "words"]

Feed = dict[str, Any]
LENGTH = 12


def feeds(model: nn.Module, seed: int = 0) -> Iterator[tuple[str, Feed]]:
    """Offers of named inputs, the fullest first, each with what it is in words.

    Args:
        model: from the transformers library.
        seed: of the random numbers in them.
    """
    chance = torch.Generator().manual_seed(seed)
    takes = inspect.signature(model.forward).parameters
    reads = "input_ids" in takes
    for said, seen in pictures(model, takes, chance):
        if reads:
            yield f"text and {said}", {**_around(model, seen, chance), **seen, **_others(model, takes, chance, 1)}
            yield f"text and {said}", {"input_ids": words(model, 2, chance), **seen, **_others(model, takes, chance)}
        else:
            yield said, {**seen, **_others(model, takes, chance)}
    for said, heard in sounds(model, takes, chance):
        yield said, {**heard, **_others(model, takes, chance)}
        if reads:
            yield f"text and {said}", {"input_ids": words(model, 2, chance), **heard, **_others(model, takes, chance)}
    if reads:
        several = {"input_ids": words(model, 2, chance), **_others(model, takes, chance)}
        yield "text", several
        yield "text", {"input_ids": words(model, 2, chance)}
    main = getattr(model, "main_input_name", None)
    if isinstance(main, str) and main not in ("input_ids", "pixel_values") and main in takes:
        yield main, {main: torch.randn(2, LENGTH, number(model.config, 64, "d_model", "hidden_size"), generator=chance)}


def words(model: nn.Module, rows: int, chance: torch.Generator, length: int = LENGTH) -> Tensor:
    """Random tokens without a special meaning, (rows, length)."""
    most = number(model.config, 99, "vocab_size")
    return torch.randint(min(SPECIAL, most // 2), most, (rows, length), generator=chance)


def number(config: Any, default: int, *names: str) -> int:
    """The first number in a config or in a part of it that has one of these names."""
    for part in _parts(config):
        for name in names:
            found = getattr(part, name, None)
            if isinstance(found, list | tuple) and found and type(found[0]) is int:
                found = found[0]
            if type(found) is int:
                return found
    return default


def _parts(config: Any) -> Iterator[Any]:
    yield config
    for value in vars(config).values():
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            yield from _parts(value)


def _around(model: nn.Module, seen: Feed, chance: torch.Generator) -> Feed:
    """One text with the tokens of the picture in its middle."""
    token = next(
        (
            one
            for name in ("image_token_id", "image_token_index", "video_token_id", "media_token_id")
            if isinstance(one := getattr(model.config, name, None), int)
        ),
        None,
    )
    many = _places(model, seen)
    if token is None or many is None:
        return {"input_ids": words(model, 1, chance)}
    text = words(model, 1, chance)
    ids = torch.cat([text[:, :4], torch.full((1, many), token), text[:, 4:]], dim=1)
    kinds = (ids == token).long()
    takes = inspect.signature(model.forward).parameters
    return {"input_ids": ids} | {name: kinds for name in ("mm_token_type_ids", "token_type_ids") if name in takes}


def _places(model: nn.Module, seen: Feed) -> int | None:
    """How many tokens a picture takes, by the model's own function of what it sees in it."""
    for owner in (model, getattr(model, "model", None)):
        for name in ("get_image_features", "get_video_features"):
            look = getattr(owner, name, None)
            if look is None:
                continue
            takes = inspect.signature(look).parameters
            try:
                with torch.no_grad():
                    found = look(**{key: value for key, value in seen.items() if key in takes})
            except Exception:
                continue
            return _rows(getattr(found, "pooler_output", found))
    return None


def _rows(found: Any) -> int | None:
    if isinstance(found, Tensor):
        return found.numel() // found.shape[-1]
    if isinstance(found, list | tuple):
        several = [_rows(one) for one in found]
        return sum(one for one in several if one) or None
    return None


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
