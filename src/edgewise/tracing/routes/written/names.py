"""The names under which products are called: above them an output can still be replaced, gradients and all."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from edgewise.tracing.routes.replacing import replaced_everywhere
from edgewise.tracing.routes.written.flow import Flow
from edgewise.tracing.routes.written.offering import offered

__all__ = ["install"]

_FUNCTIONS = ("matmul", "bmm", "mm", "mv", "baddbmm", "einsum")
_METHODS = ("matmul", "__matmul__", "__rmatmul__", "bmm", "mm", "mv", "baddbmm")


def install(undo: ExitStack, flow_now: Callable[[], Flow | None]) -> None:
    """Replace the names for as long as `undo` lasts; `flow_now` is the flow of the running thread."""
    functions = {(torch, name): _watched(getattr(torch, name), flow_now) for name in _FUNCTIONS}
    undo.enter_context(replaced_everywhere(functions))
    for name in _METHODS:
        undo.enter_context(_method(name, _watched(getattr(torch.Tensor, name), flow_now)))


def _watched(real: Callable[..., Any], flow_now: Callable[[], Flow | None]) -> Callable[..., Any]:
    @wraps(real)
    def product(*args: Any, **kwargs: Any) -> Any:
        flow = flow_now()
        if flow is None or flow.empty:
            return real(*args, **kwargs)
        met: list[Any] = []
        flow.waiting.append(met)
        try:
            result = real(*args, **kwargs)
        finally:
            flow.waiting.remove(met)
        for meeting in met:
            result = offered(meeting, result)
        return result

    return product


@contextmanager
def _method(name: str, new: Callable[..., Any]) -> Generator[None]:
    """While this lasts, tensors have another method of this name than the one they inherit."""
    own = vars(torch.Tensor).get(name)
    setattr(Tensor, name, new)
    try:
        yield
    finally:
        if own is None:
            delattr(Tensor, name)
        else:
            setattr(Tensor, name, own)
