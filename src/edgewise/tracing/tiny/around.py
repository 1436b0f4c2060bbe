"""A text with the tokens of what is seen or heard in its middle, as many as the model makes of it."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.tracing.tiny.numbers import words

__all__ = ["around"]

_PICTURE = ("image_token_id", "image_token_index", "media_token_id", "image_patch_id")
_FILM = ("video_token_id", "video_token_index", *_PICTURE)
_SOUND = ("audio_token_id", "audio_token_index", "speech_token_id")


def around(model: nn.Module, perceived: Mapping[str, Any], chance: torch.Generator) -> dict[str, Any]:
    """Tokens by number, and which of them are no words where the model asks.

    Args:
        model: from the transformers library.
        perceived: a picture, a film or a sound, as the model takes it.
        chance: random numbers.
    """
    film, sound = "pixel_values_videos" in perceived, any(name.startswith("input_") for name in perceived)
    names = _FILM if film else _SOUND if sound else _PICTURE
    token = next((one for name in names if isinstance(one := getattr(model.config, name, None), int)), None)
    many = _places(model, perceived, "audio" if sound else "video" if film else "image")
    text = words(model, 1, chance)
    if token is None or many is None:
        return {"input_ids": text}
    ids = torch.cat([text[:, :4], torch.full((1, many), token), text[:, 4:]], dim=1)
    kinds = (ids == token).long() * (2 if film else 1)
    takes = inspect.signature(model.forward).parameters
    return {"input_ids": ids} | {name: kinds for name in ("mm_token_type_ids", "token_type_ids") if name in takes}


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
        return _rows(getattr(found, "pooler_output", found))
    return None


def _rows(found: Any) -> int | None:
    if isinstance(found, Tensor):
        return found.numel() // found.shape[-1]
    if isinstance(found, list | tuple):
        several = [_rows(one) for one in found]
        return sum(one for one in several if one) or None
    return None
