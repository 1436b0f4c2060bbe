"""What a module keeps from one text to the next, emptied by its own method, where it has one for that."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

__all__ = ["empty"]

_EMPTIES = re.compile(r"(reset|clear|empty|flush)_?(the_)?(kv_?)?(cache|caches|state|states)")


def empty(module: nn.Module | None) -> bool:
    """Call what a module has for that, its own or else that of its parts, and return whether there is any.

    Example:
        >>> class Keeps(nn.Module):
        ...     kept = 3
        ...     def reset_kv_cache(self):
        ...         self.kept = 0
        >>> one = Keeps()
        >>> empty(one), one.kept, empty(nn.Linear(1, 1))
        (True, 0, False)
    """
    if module is None:
        return False
    own = list(_methods(module))
    methods = own or [each for part in module.modules() for each in _methods(part)]
    for method in methods:
        method()
    return bool(methods)


def _methods(module: nn.Module) -> Iterator[Callable[[], Any]]:
    for name in dir(type(module)):
        method = getattr(type(module), name, None)
        if _EMPTIES.fullmatch(name) and inspect.isfunction(method):
            wanted = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
            if len(wanted) == 1:  # itself
                yield getattr(module, name)
