"""An argument that is a dict of all that is read, as a loader makes it: its entries, by the keys the code asks for."""

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

from edgewise.checks.infer.names import Taken

__all__ = ["entries"]


def entries(function: Callable[..., Any], taken: tuple[Taken, ...]) -> tuple[str, tuple[Taken, ...]] | None:
    """Return the name of the one argument, and its entries as if each were an argument; None where it is no dict.

    Args:
        function: whose code is read for `batch["input_ids"]`, `batch.get("mask")` and `"mask" in batch`.
        taken: its arguments.

    Example:
        >>> def forward(batch):
        ...     return batch["input_ids"], batch.get("attention_mask")
        >>> entries(forward, (Taken("batch", None, True, 0),))[1][1].name
        'attention_mask'
    """
    if sum(one.required for one in taken) != 1 or not taken[0].required:
        return None
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        return None
    name = re.escape(taken[0].name)
    asked = re.findall(rf"\b{name}\[\s*[\"'](\w+)[\"']\s*\]|\b{name}\.get\(\s*[\"'](\w+)[\"']", text)
    spared = set(re.findall(rf"[\"'](\w+)[\"'] (?:not )?in {name}\b", text))
    found: dict[str, bool] = {}
    for must, may in asked:
        found[must or may] = found.get(must or may, False) or (bool(must) and must not in spared)
    if not found:
        return None
    return taken[0].name, tuple(Taken(one, None, required, None) for one, required in found.items())
