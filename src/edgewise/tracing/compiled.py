"""Compiled code runs uncompiled while attention is watched: there are no calls to see in it.

What has been compiled is kept, and used again afterwards. `flex_attention` is the exception: its compiled form is the
one to have, and what goes in and comes out is all there is to see.
"""

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

__all__ = ["compiled_after_all", "uncompiled"]


@contextmanager
def uncompiled() -> Generator[None]:
    """While this lasts, compiled code runs as it was written."""
    if "torch._dynamo" not in sys.modules:
        yield  # nothing has been compiled
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def compiled_after_all() -> AbstractContextManager[object]:
    """While this lasts, compiled code runs compiled."""
    return torch.compiler.set_stance("default") if "torch._dynamo" in sys.modules else nullcontext()
