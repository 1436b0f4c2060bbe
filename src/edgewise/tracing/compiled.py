"""Compiled code runs uncompiled while attention is watched: there are no calls to see in it.

What has been compiled is kept, and used again afterwards. `flex_attention` is the exception: its compiled form is the
one to have, and what goes in and comes out is all there is to see.
"""

import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext

import torch

from edgewise.tracing.watch import Shared

__all__ = ["compiled_after_all", "uncompiled"]


def _install(undo: ExitStack) -> None:
    if "torch._dynamo" in sys.modules:  # else nothing has been compiled
        undo.enter_context(torch.compiler.set_stance("force_eager"))


# Shared, because a stance restores the one before it: of two traces that end in the order in which they began, the
# second would restore that of the first, for good.
uncompiled = Shared(_install)
"""While a watch lasts, compiled code runs as it was written."""


def compiled_after_all() -> AbstractContextManager[object]:
    """While this lasts, compiled code runs compiled."""
    return torch.compiler.set_stance("default") if "torch._dynamo" in sys.modules else nullcontext()
