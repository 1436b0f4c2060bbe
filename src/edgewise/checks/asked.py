"""What is asked of a check: which target, made or found by its name, and which properties."""

import difflib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.property import Property
from edgewise.errors import ArgumentError, EdgewiseError
from edgewise.tracing import Target
from edgewise.tracing import target as named_target

__all__ = ["chosen", "known", "made"]


def chosen(only: Sequence[str] | None, skip: Sequence[str] = ()) -> tuple[Property, ...]:
    """Return the properties that are asked for, in their order.

    Raises:
        ArgumentError: one is asked for that there is not, or none is left.
    """
    wanted = [known(name) for name in only] if only else [one.name for one in PROPERTIES]
    left = set(wanted) - {known(name) for name in skip}
    if not left:
        raise ArgumentError("no property is left to look at: `only` and `skip` name the same")
    return tuple(one for one in PROPERTIES if one.name in left)


def known(name: str) -> str:
    """Return the name of a property.

    Raises:
        ArgumentError: there is none of this name.
    """
    names = [one.name for one in PROPERTIES]
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f": did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
    raise ArgumentError(f"there is no property {name!r}{hint}")


def made(target: Any) -> tuple[str, Any]:
    """Return the name by which a target can be found again, "" where it has none, and the target itself."""
    if isinstance(target, str):
        target = named_target(target, called=False)
    if isinstance(target, Target):
        return target.name, target.model
    if not isinstance(target, nn.Module) and callable(target) and _wants_nothing(target):
        return "", _called(target)
    if not callable(target):
        raise ArgumentError(f"a target is a module, a function, a name or what makes one; got {type(target).__name__}")
    return "", target


def _wants_nothing(factory: Callable[..., Any]) -> bool:
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError):
        return False
    return True


def _called(factory: Callable[[], Any]) -> Any:
    try:
        found = factory()
    except EdgewiseError:
        raise
    except (Exception, SystemExit) as error:
        name = getattr(factory, "__name__", type(factory).__name__)
        raise ArgumentError(f"making the target failed: {name}() raised {type(error).__name__}: {error}") from error
    if not callable(found):
        raise ArgumentError(f"wanted a factory to make a module or a function; it made a {type(found).__name__}")
    return found.eval() if isinstance(found, nn.Module) else found
