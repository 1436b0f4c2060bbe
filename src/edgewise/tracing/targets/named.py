"""Which kind of name a name is, and where it leads."""

import os
import re
from pathlib import Path

import torch

from edgewise.errors import ArgumentError, MissingError
from edgewise.tracing.targets.code import from_code
from edgewise.tracing.targets.library import from_library
from edgewise.tracing.targets.target import Target

__all__ = ["FORMS", "offline", "target"]

FORMS = (
    "a hub name (org/name), a folder, a .gguf file, package.module:attr or file.py:attr "
    "(a module, a function that makes one, or a function of attention)"
)
_HUB = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")
_CODE = re.compile(r"(?P<where>.+?):(?P<attribute>[A-Za-z_][\w.]*)")


def target(name: str, *, dtype: torch.dtype | None = None, device: str = "cpu", called: bool = True) -> Target:
    """The model that a name stands for.

    Args:
        name: one of `FORMS`.
        dtype: what to turn its weights into; None leaves them as they are.
        device: where it runs.
        called: whether somebody's own code may be called to find out what it reads.

    Raises:
        ArgumentError: it has none of the forms, or names something that is no model.
        MissingError: what it names is not there, or needs a package that is not.
        RunError: loading it failed.
    """
    path = Path(name).expanduser()
    found = _CODE.fullmatch(name)
    if path.is_dir() or path.suffix == ".gguf":
        return from_library(name, dtype=dtype, device=device, local=True)
    if found is not None and (found["where"].endswith(".py") or re.fullmatch(r"[\w.]+", found["where"])):
        return from_code(name, found["where"], found["attribute"], dtype=dtype, device=device, called=called)
    if path.suffix == ".py":
        raise ArgumentError(f"wanted file.py:attr, the name of what is in the file too; got {name!r}: try {name}:model")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.is_file():
        is_file = "is a file" if path.is_file() else "is not there"
        raise MissingError(f"wanted a model; {name} {is_file}: a target is {FORMS}")
    if _HUB.fullmatch(name) is None:
        raise ArgumentError(f"a target is {FORMS}; got {name!r}")
    return from_library(name, dtype=dtype, device=device, local=offline())


def offline() -> bool:
    """Whether the user has said that nothing may be fetched."""
    return any(os.environ.get(name, "").upper() in ("1", "TRUE", "YES", "ON") for name in _OFFLINE)


_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "EDGEWISE_OFFLINE")
