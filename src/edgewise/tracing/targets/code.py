"""A model that somebody's own code holds or makes: `package.module:attr`, or `file.py:attr`."""

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from edgewise.errors import ArgumentError, EdgewiseError, MissingError, RunError
from edgewise.tracing.targets.failed import failed
from edgewise.tracing.targets.guess import Offer, guessed
from edgewise.tracing.targets.library import TokenizerReader
from edgewise.tracing.targets.target import Reader, Target

__all__ = ["from_code", "from_name"]


def from_code(
    name: str, where: str, attribute: str, *, dtype: torch.dtype | None, device: str, called: bool = True
) -> Target:
    """The model that an attribute of a module or a file is, or makes.

    A module is taken as it is. A class, or a function that can be called without arguments, is called; it may return
    a model, or a model and its tokenizer. Any other function is taken for a function of attention.

    Raises:
        ArgumentError: there is no such attribute, or it is no model.
        MissingError: there is no such module or file.
        RunError: the code failed.
    """
    found = _named(name, where, attribute)
    if not isinstance(found, nn.Module) and callable(found) and not _wanted(found):
        found = _called(name, found)
    elif inspect.isclass(found):
        wanted = ", ".join(_wanted(found))
        raise ArgumentError(f"{name} is a class that wants arguments ({wanted}): name a function that makes the model")
    reader: Reader | None = None
    if isinstance(found, tuple) and len(found) == 2:
        found, reader = found[0], _reader(found[1])
    if isinstance(found, nn.Module):
        found = found.to(device=device, dtype=dtype).eval()
    elif not callable(found):
        kind = type(found).__name__
        raise ArgumentError(f"wanted a module, a function that makes one, or one of attention; {name} is a {kind}")
    offer = guessed(found, dtype, device) if called else Offer(None, "")
    return Target(name, found, reader, inputs=offer.inputs, reads=offer.reads)


def from_name(name: str) -> Any:
    """What `module:attr` or `file.py:attr` is; a function that can be called without arguments is called.

    Raises:
        ArgumentError: it has neither form, or there is no such attribute.
        MissingError: there is no such module or file.
        RunError: the code failed.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon or not attribute or not where:
        raise ArgumentError(f"wanted module:attr or file.py:attr; got {name!r}")
    found = _named(name, where, attribute)
    return _called(name, found) if callable(found) and not _wanted(found) else found


def _named(name: str, where: str, attribute: str) -> Any:
    return _attribute(name, _file(where) if where.endswith(".py") else _module(where), attribute)


def _module(where: str) -> Any:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as python -m has it
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is not None and (where == error.name or where.startswith(f"{error.name}.")):
            raise MissingError(
                f"wanted the module {where}; there is no module {error.name} here or installed"
            ) from None
        raise MissingError(f"{where} needs the package {error.name}: pip install {error.name}") from None
    except (Exception, SystemExit) as error:
        raise RunError(failed(f"importing {where}", error)) from error


def _file(where: str) -> Any:
    path = Path(where).expanduser().resolve()
    if not path.is_file():
        raise MissingError(f"wanted a file of code; there is no file {where}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    # What it defines looks itself up by its module's name, and what lies beside it is imported by name.
    sys.modules.setdefault(path.stem, made)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(made)
    except ModuleNotFoundError as error:
        raise MissingError(f"{where} needs the package {error.name}: pip install {error.name}") from None
    except (Exception, SystemExit) as error:
        raise RunError(failed(f"running {where}", error)) from error
    finally:
        sys.path.remove(str(path.parent))
    return made


def _attribute(name: str, holder: Any, attribute: str) -> Any:
    found = holder
    for part in attribute.split("."):
        if not hasattr(found, part):
            offered = [one for one in vars(holder) if not one.startswith("_") and callable(getattr(holder, one))]
            near = difflib.get_close_matches(part, offered, n=3) or offered[:6]
            hint = f"; it has {', '.join(near)}" if near else ""
            raise ArgumentError(f"wanted {part} of {name}; there is none{hint}")
        found = getattr(found, part)
    return found


def _wanted(function: Callable[..., Any]) -> list[str]:
    """The arguments that must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["…"]  # written in C: no factory of models is
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind not in variable]


def _called(name: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except EdgewiseError:
        raise
    except (Exception, SystemExit) as error:
        raise RunError(failed(f"calling {name}", error)) from error


def _reader(found: Any) -> Reader | None:
    """Whatever has an `encode` and a `decode` reads."""
    if hasattr(found, "ids") and hasattr(found, "pieces"):
        return found
    return TokenizerReader(found) if hasattr(found, "encode") and hasattr(found, "decode") else None
