"""The sizes and the layout that a function of query, key and value takes."""

import inspect
from collections.abc import Iterator
from typing import Any

from edgewise.checks.calls.subject import Layout, Shape, Subject

__all__ = ["functions", "more_shapes"]

QUERY, KEY = 5, 7
_GROUPED = ((4, 4), (6, 2), (4, 1), (8, 2), (8, 4), (6, 3), (8, 8), (2, 2), (1, 1), (3, 3), (12, 4))
_LAYOUTS: tuple[Layout, ...] = ("heads second", "heads third", "no heads")


def functions(subject: Subject, told: dict[str, Any]) -> Iterator[Subject]:
    """The subject with everything that it may take; what its code holds in variables called so, first.

    Args:
        subject: whose first three arguments are query, key and value.
        told: `heads`, `groups`, `head_width` and `layout` narrow the search.
    """
    layouts = [told["layout"]] if "layout" in told else _LAYOUTS
    for unequal in (True, False):
        for layout in layouts:
            for heads, groups, width in _sizes(subject.target, told):
                if layout == "no heads" and (heads, groups) != (1, 1):
                    continue
                shape = Shape(heads, groups, width, QUERY, KEY if unequal else QUERY)
                yield sized(subject, shape).replace(layout=layout, length=QUERY)


def sized(subject: Subject, shape: Shape) -> Subject:
    """With these sizes."""
    return subject.replace(
        reads="qkv", kind="function", shapes=(shape,), heads=shape.heads, groups=shape.groups, head_width=shape.width
    )


def _sizes(target: Any, told: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    held = _held(target)
    heads = told.get("heads") or _of(held, "h", "hq", "heads", "n_heads", "n_head", "num_heads", "q_heads", "nh")
    groups = told.get("groups") or _of(held, "g", "hk", "hkv", "kv_heads", "n_kv_heads", "num_kv_heads", "groups", "kv")
    width = told.get("head_width") or _of(held, "d", "dh", "hd", "dk", "d_k", "d_head", "head_dim", "head_width")
    widths = dict.fromkeys([width] if "head_width" in told else [width, 8, 16, 4, 32, 64])
    pairs = [(heads, groups or heads)] if heads else []
    if "heads" not in told:
        pairs += [pair for pair in _GROUPED if groups is None or "groups" not in told or pair[1] == groups]
    for one in widths:
        for many, few in dict.fromkeys(pairs):
            if one and many % few == 0:
                yield many, few, one


def _held(target: Any) -> dict[str, int]:
    """Whole numbers that a function's code holds: of the function around it, of its module, and of its defaults."""
    function = inspect.unwrap(getattr(target, "func", target))
    if not inspect.isfunction(function):
        return {}
    found = inspect.getclosurevars(function)
    named = {**found.globals, **found.nonlocals}
    named |= {one.name: one.default for one in inspect.signature(function).parameters.values()}
    return {name.lower(): value for name, value in named.items() if type(value) is int and 0 < value <= 4096}


def _of(held: dict[str, int], *names: str) -> int | None:
    return next((held[name] for name in names if name in held), None)


def more_shapes(subject: Subject) -> Iterator[Shape]:
    """Further sizes: grouped heads, which a function that was found with as many key heads may take too."""
    first = subject.shapes[0]
    for heads, groups in ((6, 2), (4, 2), (8, 2), (4, 1), (4, 4)):
        if (heads, groups) != (first.heads, first.groups):
            yield Shape(heads, groups, first.width, first.query, first.key)
