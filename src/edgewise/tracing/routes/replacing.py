"""A function put in another's place for a while: where it is defined, and wherever it was imported by name."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["replaced", "replaced_everywhere"]


@contextmanager
def replaced(owner: Any, name: str, new: Callable[..., Any]) -> Generator[None]:
    """While this lasts, `owner.name` is `new`."""
    old = owner.__dict__[name]
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextmanager
def replaced_everywhere(old: Any, new: Callable[..., Any], home: Any, name: str) -> Generator[None]:
    """While this lasts, `home.name` is `new`, and so is every global name of a loaded module that stood for `old`."""
    with replaced(home, name, new):
        places = [
            (namespace, known)
            for namespace in _namespaces()
            for known, value in tuple(namespace.items())
            if value is old
        ]
        for namespace, known in places:
            namespace[known] = new
        try:
            yield
        finally:
            for namespace, known in places:
                if namespace.get(known) is new:
                    namespace[known] = old


def _namespaces() -> Iterator[dict[str, Any]]:
    """The global names of every loaded module but torch's own C functions."""
    for name, module in tuple(sys.modules.items()):
        if not name.startswith("torch._C"):
            yield vars(module)
