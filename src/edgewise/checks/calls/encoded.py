"""What an encoder gave, handed on from one part of a text to the next in place of what it read, as `generate` does."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from torch import nn

from edgewise.checks.calls.subject import Subject

__all__ = ["ENCODED", "encoder_of", "listening", "with_encoded"]

ENCODED = "encoder_outputs"
"""The argument by which models of the transformers library take it."""


def encoder_of(subject: Subject) -> nn.Module | None:
    """The part of a model of the library that reads its memory; None where it names none."""
    found: Any = getattr(subject.module, "get_encoder", lambda: None)()
    return found if isinstance(found, nn.Module) and found is not subject.module else None


@contextmanager
def listening(subject: Subject) -> Generator[list[Any]]:
    """While this lasts, what the encoder gives is put into the list, if it is to be handed on."""
    kept: list[Any] = []
    encoder = encoder_of(subject) if subject.caching is not None and subject.caching.encoded else None
    if encoder is None:
        yield kept
        return
    hook = encoder.register_forward_hook(lambda _module, _arguments, out: kept.append(out))
    try:
        yield kept
    finally:
        hook.remove()


def with_encoded(subject: Subject, named: dict[str, Any], given: Any) -> dict[str, Any]:
    """What a call is handed by name, with what the encoder gave before in place of its memory; the mask stays."""
    if given is None or subject.memory is None:
        return named
    read = (subject.memory.name, *subject.memory.also)
    return {name: one for name, one in named.items() if name not in read} | {ENCODED: given}
