"""Models that have been compiled run uncompiled while they are watched: compiled code has no calls to see."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

__all__ = ["is_compiled", "uncompiled"]


def is_compiled(model: object) -> bool:
    """Whether the model, or a part of it, has been handed to `torch.compile`."""
    if "torch._dynamo" not in sys.modules:
        return False  # nothing has
    parts: list[Any] = list(model.modules()) if isinstance(model, nn.Module) else [model]
    return any(
        hasattr(part, "_orig_mod")
        or hasattr(part, "_torchdynamo_orig_callable")
        or getattr(part, "_compiled_call_impl", None) is not None
        for part in parts
    )


@contextmanager
def uncompiled(model: object) -> Generator[None]:
    """While this lasts, compiled code runs as it was written, if the model has any; what is compiled is kept."""
    if not is_compiled(model):
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
