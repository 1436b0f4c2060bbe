"""What the user says of a target by keyword, in place of what would be found out."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.names import Role, Taken
from edgewise.errors import ArgumentError

__all__ = ["ROLES", "by_name", "checked", "parts_told"]

ROLES: Mapping[str, Role] = {
    "mask": "mask",
    "square_mask": "square",
    "positions": "positions",
    "documents": "documents",
    "cache": "cache",
    "weights": "weights",
    "memory": "memory",
    "memory_mask": "memory_mask",
    "causal_flag": "causal",
}
"""Parts of a subject that are arguments, each told as "name" or "name:form", or None for no such argument."""
_FORMS = ("keep", "hide", "additive", "lengths", "each", "start", "ids", "cumulative")
PARTS = (
    *("name", "method", "tokens", "reads", "vocabulary", "pad", "width", "sizes", "length", "longest", "layout"),
    *("heads", "groups", "head_width", "memory_reads", "memory_width", "switches", "arguments"),
)
"""What else may be told."""


def checked(told: Mapping[str, Any]) -> dict[str, Any]:
    """What is told, once it is known that it can be.

    Raises:
        ArgumentError: there is no such part, or it cannot be that.
    """
    known = {*ROLES, *PARTS, *(one.name for one in fields(Subject))}
    for name, value in told.items():
        if name not in known:
            raise ArgumentError(f"{name} is no part of how a target is called; parts are {', '.join((*PARTS, *ROLES))}")
        if name in ROLES and isinstance(value, str):
            form = value.partition(":")[2]
            if form and form not in _FORMS:
                raise ArgumentError(f"{name}={value!r}: a form is one of {', '.join(_FORMS)}; got {form!r}")
    kinds = ("ids", "floats", "pixels", "features", "qkv")
    if told.get("reads", "ids") not in kinds:
        raise ArgumentError(f"reads is one of {', '.join(kinds)}; got {told['reads']!r}")
    return dict(told)


def by_name(
    takes: dict[Role, list[Taken]], told: Mapping[str, Any], taken: tuple[Taken, ...]
) -> dict[Role, list[Taken]]:
    """The arguments of each role, with those that are told put where they belong.

    Raises:
        ArgumentError: the target takes no argument of a name that is told.
    """
    named = {one.name: one for one in taken}
    found: dict[Role, list[Taken]] = {role: list(several) for role, several in takes.items()}
    for part, role in ROLES.items():
        if part not in told or isinstance(told[part], Argument):
            continue
        name = (told[part] or "").partition(":")[0]
        found[role] = []
        if name:
            if name not in named:
                raise ArgumentError(
                    f"{part}={name!r}: it takes no such argument; it takes {', '.join(named) or 'none'}"
                )
            for several in found.values():
                several[:] = [one for one in several if one.name != name]
            found[role] = [replace(named[name], form=told[part].partition(":")[2])]
    for part in (one for one in ROLES if isinstance(told.get(one), Argument)):
        for several in found.values():
            several[:] = [one for one in several if one.name not in (told[part].name, *told[part].also)]
    for name in told.get("switches", {}):
        if name not in named:
            raise ArgumentError(f"switches: it takes no argument {name}; it takes {', '.join(named) or 'none'}")
    return {role: several for role, several in found.items() if several}


def parts_told(told: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a subject that are told whole."""
    known = {one.name for one in fields(Subject)} - {*PARTS, "target", "kind"}
    parts = {name: value for name, value in told.items() if name in known and not isinstance(value, str | None)}
    if "switches" in told:
        parts["switches"] = tuple((name, tuple(values)) for name, values in dict(told["switches"]).items())
    return parts
