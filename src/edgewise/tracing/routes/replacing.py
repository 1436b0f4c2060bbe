"""A function put in another's place for a while: where it is defined, and wherever it was imported by name."""

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import BuiltinFunctionType, FunctionType
from typing import Any

__all__ = ["compiled_form", "replaced", "replaced_everywhere"]

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
        for namespace, known, value in tuple(_imports.of(old)):
            function = old.get(value) or compiled_form(value, compiled or {})
            if function is not None:
                namespace[known] = function
                undo.callback(_put_back, namespace, known, function, value)
        yield


class _Imports:
    """Where functions of torch, and what was compiled of any, are known by a global name outside of torch.

    To look through every name of every module takes milliseconds, as long as a small model. What was found in a module
    is kept and looked up again while the module has as many names as before; `__main__` is looked through each time.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[Namespace, int, list[str]]] = {}
        self._skipped: set[str] = set()

    def of(self, old: Mapping[Any, Any]) -> Iterator[tuple[Namespace, str, Any]]:
        """The names that stand for an old function or for something compiled."""
        for module, namespace in self._namespaces():
            known = self._found.get(module)
            if known is None or known[0] is not namespace or known[1] != len(namespace) or module == "__main__":
                known = self._found[module] = namespace, len(namespace), _imported(namespace)
            for name in known[2]:
                value = namespace.get(name)
                if isinstance(value, _FUNCTIONS) and (value in old or _is_compiled(value)):
                    yield namespace, name, value

    def _namespaces(self) -> Iterator[tuple[str, Namespace]]:
        """The loaded modules, by name, and their global names."""
        for name, module in tuple(sys.modules.items()):
            if name in self._skipped:
                continue
            if name.partition(".")[0] in _ELSEWHERE:
                self._skipped.add(name)
            else:
                yield name, vars(module)


_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_imports = _Imports()


def _imported(namespace: Namespace) -> list[str]:
    """The names in a namespace of functions that may be torch's, or compiled."""
    found: list[str] = []
    for name, value in tuple(namespace.items()):
        kind = type(value)
        if kind is BuiltinFunctionType or (kind is FunctionType and (_is_torch_s(value) or _is_compiled(value))):
            found.append(name)
    return found


def _is_torch_s(function: Any) -> bool:
    return (function.__module__ or "").startswith("torch")


def _is_compiled(function: Any) -> bool:
    return type(function) is FunctionType and function.__code__.co_name in _WRAPPERS


def compiled_form(function: Any, compiled: Mapping[Any, Compiled]) -> Callable[..., Any] | None:
    """What stands for a compiled function, where it is one of those that are given by what was compiled."""
    make = compiled.get(getattr(function, "_torchdynamo_orig_callable", None))
    return None if make is None else make(function)


def _put_back(namespace: Namespace, known: str, new: Any, value: Any) -> None:
    if namespace.get(known) is new:
        namespace[known] = value
