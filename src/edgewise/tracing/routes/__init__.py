"""The ways in which calls of attention are seen; each call is seen by the first that knows it, and once.

A route is a function of a `Watch` that returns a context manager: while that lasts, calls of the watched model are
offered to its listener through `watchers` and `claim` of `edgewise.tracing.watch`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from edgewise.tracing.routes import registry, torch_functions, written
from edgewise.tracing.watch import Watch

__all__ = ["ROUTES", "Route"]

Route = Callable[[Watch], AbstractContextManager[None]]

ROUTES: tuple[Route, ...] = (registry.watching, torch_functions.watching, written.watching)
