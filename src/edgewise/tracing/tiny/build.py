"""A small random model of any architecture that transformers knows, and something for it to read."""

import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from edgewise.errors import MissingError, RunError
from edgewise.tracing.tiny.around import corrected
from edgewise.tracing.tiny.feeds import feeds
from edgewise.tracing.tiny.kinds import Kind, kind_of, library, model_class
from edgewise.tracing.tiny.shrink import shrunk
from edgewise.tracing.tiny.sizes import LEVELS, Level
from edgewise.tracing.tiny.special import GIVEN, PARTS

__all__ = ["Tiny", "tiny"]

LARGEST = 150_000_000
"""Numbers in a model that is still small."""


@dataclass(frozen=True, eq=False)
class Tiny:
    """A small model."""

    type: str
    kind: Kind
    model: nn.Module
    inputs: dict[str, Any]
    """Named arguments of its forward pass, random."""
    reads: str
    """What they are, in words."""
    level: str
    """How much was shrunk, in words."""


def tiny(type_name: str, seed: int = 0, task: str | None = None) -> Tiny:
    """A small random model of a type, in evaluation mode, with inputs that it has been run on.

    Args:
        type_name: as transformers calls it, like "gpt2" or "whisper".
        seed: of its weights and its inputs.
        task: what it is built for, one of `tasks`; None for the usual.

    Raises:
        ArgumentError: there is no such type, or no model of it for this.
        MissingError: transformers is not installed, or a package that this type wants beside it.
        RunError: it cannot be built small, or nothing that it reads was found; says why.
    """
    kind = kind_of(type_name)
    model_class(type_name, task)
    why: list[str] = []
    for level in LEVELS:
        try:
            model = _built(type_name, level, seed, task)
        except Exception as error:
            _lacking(type_name, error)
            why.append(_told(error))
            continue
        for reads, inputs in feeds(model, seed):
            try:
                fit = _fitting(model, inputs)
            except Exception as error:
                why.append(f"given {reads}: {_told(error)}")
                continue
            return Tiny(type_name, kind, model, fit, reads, level.name)
    raise RunError(f"{type_name} could not be built small and run: {why[0] if why else 'nothing it reads was found'}")


def _built(type_name: str, level: Level, seed: int, task: str | None) -> nn.Module:
    config = config_of(type_name, level)
    made = model_class(type_name, task)
    if task == "causal" and hasattr(config, "is_decoder"):
        config.is_decoder = True  # else an encoder that is built for it reads both ways, by design
    with torch.device("meta"):
        size = sum(one.numel() for one in made(config).parameters())
    if size > LARGEST:
        raise RunError(f"it has {size:,} parameters where {LARGEST:,} are small")
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        model = made(config).eval()
    return getattr(model, PARTS[type_name]) if type_name in PARTS else model


def config_of(type_name: str, level: Level) -> Any:
    """The config of a small model of a type."""
    return shrunk(library().CONFIG_MAPPING[type_name](), level, GIVEN.get(type_name, {}))


def _fitting(model: nn.Module, inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs as the model takes them: with as many tokens in a picture's place as it says that it wants."""
    try:
        _run(model, inputs)
    except Exception as error:
        again = corrected(model, inputs, error)
        if again is None:
            raise
        _run(model, again)
        return again
    return inputs


def _run(model: nn.Module, inputs: dict[str, Any]) -> None:
    with torch.no_grad(), torch.random.fork_rng(devices=()):
        model(**inputs)


def _lacking(type_name: str, error: Exception) -> None:
    """Say which package a type wants beside the library.

    Raises:
        MissingError: it does, and it is not installed.
    """
    asked = re.search(r"pip install (\w[\w.-]*)", str(error)) if isinstance(error, ImportError) else None
    name = asked[1] if asked is not None else error.name if isinstance(error, ModuleNotFoundError) else None
    if name is not None:
        raise MissingError(f"{type_name} needs the package {name}: pip install {name}") from None


def _told(error: Exception) -> str:
    """The last line of a message that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:200] if lines else 'no word'}"
