"""Compiled code runs uncompiled while attention is watched: there are no calls to see in it.

What has been compiled is kept, and used again afterwards. `flex_attention` is the exception: its compiled form is the
one to have, and what goes in and comes out is all there is to see.
"""

import sys
import warnings
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar

import torch

from edgewise.tracing.watch import Shared

__all__ = ["as_written", "compiled_after_all", "uncompiled"]

_as_written = ContextVar("as_written", default=False)


def _install(undo: ExitStack) -> None:
    if "torch._dynamo" in sys.modules:  # else nothing has been compiled
        undo.enter_context(torch.compiler.set_stance("force_eager"))
    else:
        undo.callback(_forgotten)


def _forgotten() -> None:
    """Let the compiler list torch's functions again, if it came while some of them stood replaced."""
    rules = sys.modules.get("torch._dynamo.trace_rules")
    for known in vars(rules).values() if rules is not None else ():
        if hasattr(known, "cache_clear"):
            known.cache_clear()


# Shared, because a stance restores the one before it: of two traces that end in the order in which they began, the
# second would restore that of the first, for good.
uncompiled = Shared(_install)
"""While a watch lasts, compiled code runs as it was written."""


def compiled_after_all() -> AbstractContextManager[object]:
    """While this lasts, compiled code runs compiled, unless somebody wants it as it was written."""
    if _as_written.get():
        return nullcontext()
    return torch.compiler.set_stance("default") if "torch._dynamo" in sys.modules else nullcontext()


@contextmanager
def as_written() -> Generator[None]:
    """While this lasts nothing runs compiled, `flex_attention` included: the same numbers without half a minute."""
    token = _as_written.set(True)
    try:
        with torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
            yield
    finally:
        _as_written.reset(token)
