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
    undo.callback(_forget_since, _listed())
    if "torch._dynamo" in sys.modules:  # else nothing has been compiled
        undo.enter_context(torch.compiler.set_stance("force_eager"))


def _listed() -> dict[str, int]:
    """How much the compiler has in each of its lists of torch's functions, which it makes when it first needs them."""
    rules = sys.modules.get("torch._dynamo.trace_rules")
    lists = {} if rules is None else dict(vars(rules))
    return {name: one.cache_info().currsize for name, one in lists.items() if hasattr(one, "cache_info")}


def _forget_since(before: dict[str, int]) -> None:
    """Let the compiler make again what it has listed since: some of torch's functions stood replaced."""
    for name, size in _listed().items():
        if size > before.get(name, 0):
            getattr(sys.modules["torch._dynamo.trace_rules"], name).cache_clear()


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
