"""What the user says of a target by keyword, in place of what would be found out."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.subject import Argument, Subject
from edgewise.errors import ArgumentError

__all__ = ["ROLES", "by_name", "checked", "narrowed"]

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
FORMS = ("keep", "hide", "additive", "lengths", "each", "start", "ids", "cumulative")
PARTS = ("method", "reads", "width", "vocabulary", "heads", "groups", "head_width", "longest", "length", "layout", "pad", "memory_reads", "memory_width", "sizes", "tokens", "switches", "arguments", "name")  # fmt: skip


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
            if form and form not in FORMS:
                raise ArgumentError(f"{name}={value!r}: a form is one of {', '.join(FORMS)}; got {form!r}")
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
    found = {role: list(several) for role, several in takes.items()}
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
            found[role] = [named[name]]
    for name in told.get("switches", {}):
        if name not in named:
            raise ArgumentError(f"switches: it takes no argument {name}; it takes {', '.join(named) or 'none'}")
    return {role: several for role, several in found.items() if several}


def narrowed(part: str, argument: Argument, told: Mapping[str, Any]) -> bool:
    """Whether a form is one that the user allows for a part."""
    value = told.get(part)
    form = value.partition(":")[2] if isinstance(value, str) else ""
    return not form or argument.form == form
