"""A function put in another's place for a while: where it is defined, and wherever it was imported by name."""

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import BuiltinFunctionType, FunctionType
from typing import Any

__all__ = ["replaced", "replaced_everywhere"]

Namespace = dict[str, Any]
Compiled = Callable[[Callable[..., Any]], Callable[..., Any]]

# Nobody here imports a function of attention by name, and they are most of what is loaded.
_ELSEWHERE = {*sys.stdlib_module_names, "torch", "numpy", "sympy", "mpmath"} - {"__main__"}

# What `torch.compile` makes of a function is a function of one of these names, which remembers the original.
_WRAPPERS = ("compile_wrapper", "_fn")


@contextmanager
def replaced(owner: Any, name: str, new: Callable[..., Any]) -> Generator[None]:
    """While this lasts, `owner.name` is `new`."""
    old = vars(owner)[name]
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextmanager
def replaced_everywhere(
    new: Mapping[tuple[Any, str], Callable[..., Any]], compiled: Mapping[Any, Compiled] | None = None
) -> Generator[None]:
    """While this lasts, each (home, name) is its new function, and so is every global name that stood for the old one.

    Args:
        new: the new functions.
        compiled: for an old function what makes a new one of its compiled form, to be put where that has a global name.
    """
    old = {getattr(home, name): function for (home, name), function in new.items()}
    with ExitStack() as undo:
        for (home, name), function in new.items():
            undo.enter_context(replaced(home, name, function))
        for namespace in _namespaces():
            for known, value in _names(namespace, old):
                function = old.get(value) or _made(value, compiled or {})
                if function is not None:
                    namespace[known] = function
                    undo.callback(_put_back, namespace, known, function, value)
        yield


def _names(namespace: Namespace, old: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """The names in a namespace that stand for an old function or for something compiled; mostly none, and quickly."""
    for value in tuple(namespace.values()):
        kind = type(value)
        if (kind is FunctionType or kind is BuiltinFunctionType) and (value in old or _is_compiled(value)):
            break
    else:
        return []
    functions = ((name, one) for name, one in tuple(namespace.items()) if isinstance(one, _FUNCTIONS))
    return [(name, one) for name, one in functions if one in old or _is_compiled(one)]


_FUNCTIONS = (FunctionType, BuiltinFunctionType)


def _is_compiled(function: Any) -> bool:
    return type(function) is FunctionType and function.__code__.co_name in _WRAPPERS


def _made(function: Any, compiled: Mapping[Any, Compiled]) -> Callable[..., Any] | None:
    make = compiled.get(getattr(function, "_torchdynamo_orig_callable", None))
    return None if make is None else make(function)


def _put_back(namespace: Namespace, known: str, new: Any, value: Any) -> None:
    if namespace.get(known) is new:
        namespace[known] = value


def _namespaces() -> Iterator[Namespace]:
    """The global names of the loaded modules."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] not in _ELSEWHERE:
            yield vars(module)
