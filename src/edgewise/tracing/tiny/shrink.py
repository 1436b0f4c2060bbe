"""A config made small: the same architecture, every part of it, with fewer and narrower layers.

Only what changes is said anew, and the class of the config works out the rest, as it does for a full-sized one.
"""

import dataclasses
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from edgewise.tracing.tiny.kinds import library
from edgewise.tracing.tiny.sizes import LAYERS, LEVELS, Level, is_layers, is_token, sections, smaller, token_number

__all__ = ["shrunk"]

MOST_LAYERS = 4
_PLAIN = bool | str | float | None
WIDTHS = [16, 32, 32, 64]
NOTHING: Mapping[str, Any] = MappingProxyType({})
_INDICES = re.compile(
    r".*(layer|attn|attention|block|moe|hybrid|visual|global|fullatt|full_attn).*(ids|idxs?|indexes|indices|layers)"
)


def shrunk(
    config: Any, level: Level = LEVELS[0], given: Mapping[str, Any] = NOTHING, tokens: dict[str, int] | None = None
) -> Any:
    """A config of the same class for a small model.

    Args:
        config: as the class makes it without arguments.
        level: how much to shrink.
        given: fields that become what is said here; for a part that is a config, what is said of its fields.
        tokens: the numbers that tokens were given so far.
    """
    tokens = {} if tokens is None else tokens
    changed = _told_apart(config)
    fields = {name: value for name, value in vars(config).items() if name in _settable(config)}
    if "kv_lora_rank" in fields:
        level = level._replace(grouped=False)  # keys of all heads come out of one
    if any(isinstance(value, list | tuple) for name, value in fields.items() if name.endswith(("heads", "per_stage"))):
        level = level._replace(width=None)  # each stage has its own, and they fit together as they are
    kept = _kept_layers(fields)
    for name, value in fields.items():
        if _is_config(value):
            changed[name] = _part(value, level, given.get(name, NOTHING), tokens)
        elif (new := _new(name, value, level, tokens, kept)) is not value:
            changed[name] = new
    given = {name: value for name, value in given.items() if not _is_config(fields.get(name))}
    if "mrope_section" in getattr(config, "ignore_keys_at_rope_validation", ()) and "rope_parameters" in fields:
        changed["rope_parameters"] = _sectioned(changed.get("rope_parameters", fields["rope_parameters"]), level)
    return type(config)(**{**changed, **_stages(config, changed), **given})


def _told_apart(config: Any) -> dict[str, Any]:
    """What a config says other than its class does without arguments."""
    alone = vars(type(config)())
    own = _settable(config)
    return {
        name: value
        for name, value in vars(config).items()
        if not name.startswith("_")
        and isinstance(value, _PLAIN | int | list | tuple if name in own else _PLAIN)
        and (name not in alone or alone[name] != value)
    }


def _is_config(value: Any) -> bool:
    return hasattr(value, "model_type") and hasattr(value, "to_dict")


def _part(config: Any, level: Level, given: Mapping[str, Any], tokens: dict[str, int]) -> Any:
    if config.model_type != "timm_backbone":
        return shrunk(config, level, given, tokens)
    # What looks at the picture first comes from another library there, and makes no attention.
    small: dict[str, Any] = {
        "depths": [1] * 4,
        "embedding_size": 16,
        "hidden_sizes": WIDTHS,
        "out_indices": [1, 2, 3, 4],
    }
    return library().CONFIG_MAPPING["resnet"](**{**small, **given})


def _stages(config: Any, changed: dict[str, Any]) -> dict[str, Any]:
    """Which stages of the model are shown, for one that others stand on; of fewer layers the last ones."""
    shown = getattr(config, "_out_indices", None)
    if not shown or "stage_names" not in vars(config):
        return {}
    layers = len(config.stage_names) - 1
    deep = next((name for name in changed if is_layers(name) and getattr(config, name) == layers), None)
    if deep is None:
        return {"out_indices": list(shown)}
    many = max(len(shown), changed[deep])
    return {deep: many, "out_indices": list(range(many - len(shown) + 1, many + 1))}


def _settable(config: Any) -> set[str]:
    """The names of what the class takes; what else a config holds it works out itself."""
    if dataclasses.is_dataclass(config):
        return {field.name for field in dataclasses.fields(config)}
    return {name for name in vars(config) if not name.startswith("_")}


def _kept_layers(fields: dict[str, Any]) -> tuple[int, list[int]]:
    """How many layers there were, and which are kept: the first of each kind, two at least."""
    total = next((value for name, value in fields.items() if is_layers(name) and type(value) is int), 0)
    lists = [value for value in fields.values() if isinstance(value, list | tuple) and len(value) == total > LAYERS]
    first = dict[Any, int]()
    for layer in range(total):
        first.setdefault(tuple(map(repr, (one[layer] for one in lists))), layer)
    several = list(first.values())[:MOST_LAYERS]
    several += [layer for layer in range(total) if layer not in several][: max(0, LAYERS - len(several))]
    return total, sorted(several)


def _new(name: str, value: Any, level: Level, tokens: dict[str, int], kept: tuple[int, list[int]]) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return _number(name, value, level, tokens, kept)
    if isinstance(value, list | tuple):
        return _several(name, value, level, tokens, kept)
    return _rotary(value, level.head // 2) if isinstance(value, dict) and level.width is not None else value


def _number(name: str, value: int, level: Level, tokens: dict[str, int], kept: tuple[int, list[int]]) -> int:
    if is_token(name):
        return token_number(name, tokens) if value >= 0 and level.words else value
    if is_layers(name):
        return len(kept[1]) if value == kept[0] else min(value, LAYERS)
    return smaller(name, value, level)


def _several(name: str, value: Any, level: Level, tokens: dict[str, int], kept: tuple[int, list[int]]) -> Any:
    total, layers = kept
    make: Any = type(value) if type(value) in (list, tuple) else list
    if is_token(name) and level.words and all(type(one) is int for one in value):
        return make(token_number(f"{name}{number or ''}", tokens) for number in range(len(value)))
    if len(value) == total > LAYERS:
        return make(value[layer] for layer in layers)
    if _INDICES.fullmatch(name) and total and all(type(one) is int for one in value):
        return make(layers.index(one) for one in value if one in layers) or make([len(layers) - 1])
    if re.fullmatch(r"depths|blocks_per_stage|num_blocks|(encoder_|stage_)?num_blocks|layer_depths", name):
        return make(min(one, LAYERS) if type(one) is int else one for one in value)
    if re.fullmatch(r"(pretrain_)?image_size|img_size|patch_size|attention_window", name):
        return make(smaller(name, one, level) for one in value)
    if name == "decoder_in_channels" and level.width is not None:
        return make(min(one, level.width) for one in value)
    return value


def _rotary(value: dict[str, Any], half: int) -> dict[str, Any]:
    """How heads are turned: of a narrower head each part is narrower."""
    found = {name: _rotary(one, half) if isinstance(one, dict) else one for name, one in value.items()}
    if "mrope_section" in found:
        turning = int(half * float(value.get("partial_rotary_factor", 1.0)))
        found["mrope_section"] = sections(found["mrope_section"], turning)
    return found if found != value else value


def _sectioned(value: Any, level: Level) -> Any:
    """How heads are turned by several positions, said where the class leaves it to the model."""
    if not isinstance(value, dict) or "mrope_section" in value or level.width is None:
        return value
    turning = int(level.head // 2 * float(value.get("partial_rotary_factor", 1.0)))
    return {**value, "mrope_section": sections([16, 24, 24], turning)}
