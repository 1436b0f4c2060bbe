"""What a property says, for `edgewise check --explain` and for its page in the docs."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from edgewise.checks.property import Property

__all__ = ["explained", "source"]

WIDTH = 100


def explained(one: Property) -> str:
    """Return what a property says, why, what it assumes, its kinds, reports of it, and an example of it broken."""
    parts = [
        f"{one.name}: {_filled(one.says)}",
        f"Why.  {_filled(one.why)}",
        f"What it assumes.  {_filled(one.assumes)}",
        "Kinds\n" + "\n".join(f"  {kind}  {phrase}" for kind, phrase in one.kinds.items()),
        "Seen in\n" + _filled("  " + ", ".join(one.references)),
        "Broken, and caught\n" + textwrap.indent(source(one.broken), "  "),
    ]
    return "\n\n".join(parts)


def source(example: Callable[[], Any]) -> str:
    """Return the code of an example."""
    try:
        return textwrap.dedent(inspect.getsource(example)).rstrip()
    except OSError:
        return f"{example.__module__}.{example.__qualname__}"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False)
