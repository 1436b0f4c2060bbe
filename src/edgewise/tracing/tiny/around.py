"""A text with the tokens of what is seen or heard in its middle, as many as the model makes of it."""

import inspect
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.tracing.tiny.numbers import words

__all__ = ["around", "corrected"]

_PICTURE = ("image_token_id", "image_token_index", "media_token_id", "image_patch_id")
_FILM = ("video_token_id", "video_token_index", *_PICTURE)
_SOUND = ("audio_token_id", "audio_token_index", "speech_token_id")


def around(
    model: nn.Module, perceived: Mapping[str, Any], chance: torch.Generator, many: int | None = None
) -> dict[str, Any]:
    """Tokens by number, and which of them are no words where the model asks.

    Args:
        model: from the transformers library.
        perceived: a picture, a film or a sound, as the model takes it.
        chance: random numbers.
        many: how many tokens it takes; None to ask the model.
    """
    film, sound = "pixel_values_videos" in perceived, any(name.startswith("input_") for name in perceived)
    names = _FILM if film else _SOUND if sound else _PICTURE
    token = next((one for name in names if isinstance(one := getattr(model.config, name, None), int)), None)
    if many is None:
        many = _places(model, perceived, "audio" if sound else "video" if film else "image")
    text = words(model, 1, chance)
    if token is None or many is None:
        return {"input_ids": text}
    ids = torch.cat([text[:, :4], torch.full((1, many), token), text[:, 4:]], dim=1)
    kinds = (ids == token).long() * (2 if film else 1)
    takes = inspect.signature(model.forward).parameters
    return {"input_ids": ids} | {name: kinds for name in ("mm_token_type_ids", "token_type_ids") if name in takes}


def corrected(model: nn.Module, inputs: Mapping[str, Any], error: Exception) -> dict[str, Any] | None:
    """The inputs with as many tokens as a model's complaint says that it wants; None where it says no such thing."""
    said = re.search(r"[Ff]eatures?(?: and \w+ tokens)? do(?:es)? not match.*features:? (\d+)", str(error), re.DOTALL)
    if said is None or "input_ids" not in inputs:
        return None
    rest = {
        name: one for name, one in inputs.items() if name not in ("input_ids", "mm_token_type_ids", "token_type_ids")
    }
    return {**around(model, rest, torch.Generator().manual_seed(0), int(said[1])), **rest}


def _places(model: nn.Module, perceived: Mapping[str, Any], kind: str) -> int | None:
    """How many tokens it takes, by the model's own function of what it makes of it."""
    for owner in (model, getattr(model, "model", None)):
        look = getattr(owner, f"get_{kind}_features", None)
        if look is None:
            continue
        takes = inspect.signature(look).parameters
        try:
            with torch.no_grad():
                found = look(**{key: value for key, value in perceived.items() if key in takes})
        except Exception:
            continue
        shown = getattr(found, "pooler_output", None)
        return _rows(getattr(found, "last_hidden_state", found) if shown is None else shown)
    return None


def _rows(found: Any) -> int | None:
    if isinstance(found, Tensor):
        return found.numel() // found.shape[-1]
    if isinstance(found, list | tuple):
        several = [_rows(one) for one in found]
        return sum(one for one in several if one) or None
    return None
