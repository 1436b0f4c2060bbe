"""Functions of attention that modules hold themselves: `self.attend = scaled_dot_product_attention`, and the like."""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

from torch import nn

from edgewise.tracing.routes.replacing import replaced

__all__ = ["replaced_in"]

Function = Callable[..., Any]
_KINDS = (FunctionType, BuiltinFunctionType, partial)


@contextmanager
def replaced_in(model: object, new: Callable[[Function], Function | None]) -> Generator[None]:
    """While this lasts, what the modules of a model and their classes hold is another function, where there is one.

    Args:
        model: a module; anything else holds nothing.
        new: from a function to the one that stands for it, or None.
    """
    with ExitStack() as undo:
        for owner, name, function in tuple(_held(model, new)):
            if isinstance(owner, type):
                undo.enter_context(replaced(owner, name, function))
            else:
                undo.enter_context(_entry(vars(owner), name, function))
        yield


def _held(model: object, new: Callable[[Function], Function | None]) -> Iterator[tuple[Any, str, Any]]:
    """Owners, names, and what they shall hold."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    for module in modules:
        for name, value in vars(module).items():
            found = _other(value, new) if type(value) in _KINDS else None
            if found is not None:
                yield module, name, found
    for kind in {one for module in modules for one in type(module).__mro__ if not issubclass(nn.Module, one)}:
        for name, value in vars(kind).items():
            found = _other(value.__func__ if isinstance(value, staticmethod) else value, new)
            if found is not None:
                yield kind, name, staticmethod(found)


def _other(value: object, new: Callable[[Function], Function | None]) -> Function | None:
    if isinstance(value, partial):
        inner = _other(value.func, new)
        return None if inner is None else partial(inner, *value.args, **value.keywords)
    return new(value) if isinstance(value, FunctionType | BuiltinFunctionType) else None


@contextmanager
def _entry(held: dict[str, Any], name: str, function: Function) -> Generator[None]:
    # Not set on the module: assigning to it has a meaning of its own.
    old, held[name] = held[name], function
    try:
        yield
    finally:
        if held.get(name) is function:
            held[name] = old
