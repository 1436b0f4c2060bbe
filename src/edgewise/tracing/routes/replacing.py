"""A function put in another's place for a while: where it is defined, and wherever it was imported by name."""

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

__all__ = ["replaced", "replaced_everywhere"]

# Nobody here imports a function of attention by name, and they are most of what is loaded.
_ELSEWHERE = {*sys.stdlib_module_names, "torch", "numpy", "sympy", "mpmath"} - {"__main__"}


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
def replaced_everywhere(new: Mapping[tuple[Any, str], Callable[..., Any]]) -> Generator[None]:
    """While this lasts, each (home, name) is its new function, and so is every global name that stood for the old one.

    A function that was compiled from an old one is replaced too: it runs as the new one, uncompiled around it.
    """
    old = {getattr(home, name): function for (home, name), function in new.items()}
    with ExitStack() as undo:
        for (home, name), function in new.items():
            undo.enter_context(replaced(home, name, function))
        for namespace in _namespaces():
            for known, value in tuple(namespace.items()):
                function = _stands_for(value, old)
                if function is not None:
                    namespace[known] = function
                    undo.callback(_put_back, namespace, known, function, value)
        yield


def _stands_for(value: Any, old: dict[Any, Callable[..., Any]]) -> Callable[..., Any] | None:
    if not callable(value) or isinstance(value, type):
        return None
    try:
        return old.get(value)
    except TypeError:
        return None  # it cannot be hashed


def _put_back(namespace: dict[str, Any], known: str, new: Any, value: Any) -> None:
    if namespace.get(known) is new:
        namespace[known] = value


def _namespaces() -> Iterator[dict[str, Any]]:
    """The global names of the loaded modules."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] not in _ELSEWHERE:
            yield vars(module)
