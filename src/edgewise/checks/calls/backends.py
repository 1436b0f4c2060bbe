"""Choosing an attention implementation of the transformers library for a while."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from edgewise.checks.calls.arguments import Refused
from edgewise.checks.calls.subject import Subject

__all__ = ["backed", "backends_of", "quiet"]

_KNOWN = ("eager", "sdpa", "flex_attention")


@contextmanager
def backed(subject: Subject, backend: str | None) -> Generator[None]:
    """While this lasts, the target's attention is of this implementation; what it was, afterwards.

    Raises:
        Refused: the target does not have it.
    """
    module: Any = subject.module
    if backend is None:
        yield
        return
    if module is None or not hasattr(module, "set_attn_implementation"):
        raise Refused(f"it has no choice of attention implementations, so none called {backend}")
    before = [(one, one._attn_implementation) for one in _configs(module)]
    try:
        if any(name != backend for _, name in before):
            try:
                module.set_attn_implementation(backend)
            except Exception as error:
                line = next((line.strip() for line in str(error).splitlines() if line.strip()), "no word")
                raise Refused(f"it does not take the attention implementation {backend}: {line[:160]}") from None
        if module.config._attn_implementation != backend:
            raise Refused(f"it does not take the attention implementation {backend}")
        yield
    finally:
        for one, name in before:
            if one._attn_implementation != name:
                one._attn_implementation = name


def _configs(module: Any) -> list[Any]:
    held = (getattr(one, "config", None) for one in module.modules())
    found = {id(one): one for one in held if hasattr(one, "__dict__")}
    parts = [part for one in found.values() for part in vars(one).values() if hasattr(part, "_attn_implementation")]
    every = {id(one): one for one in (*found.values(), *parts) if hasattr(one, "_attn_implementation")}
    return list(every.values())


def backends_of(module: Any) -> tuple[str, ...]:
    """The implementations that a model of the library says it takes; () where there is no choice."""
    if not hasattr(module, "set_attn_implementation"):
        return ()
    takes = {
        "eager": True,
        "sdpa": bool(getattr(module, "_supports_sdpa", False)),
        "flex_attention": bool(getattr(module, "_supports_flex_attn", False)),
    }
    found = tuple(name for name in _KNOWN if takes[name])
    return found if len(found) > 1 else ()


@contextmanager
def quiet(subject: Subject) -> Generator[None]:
    """While this lasts, the library does not print what it has to say of the way that is gone."""
    if subject.library != "transformers":
        yield
        return
    # Not by the level: changing that empties what every logger remembers, which costs more than a small model's call.
    handlers = logging.getLogger("transformers").handlers
    for one in handlers:
        one.addFilter(_nothing)
    try:
        yield
    finally:
        for one in handlers:
            one.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR
