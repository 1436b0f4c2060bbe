"""What is really called: behind a factory, a wrapper or a compiler, and what it is called by."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from edgewise.checks.calls.calling import failed
from edgewise.errors import ArgumentError, RunError
from edgewise.tracing import Target

__all__ = ["Called", "unwrapped"]

_WRAPPED = ("_orig_mod", "module", "_forward_module", "_fsdp_wrapped_module")
_WRAPPERS = (
    "OptimizedModule",
    "DataParallel",
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "DeepSpeedEngine",
)
_METHODS = (
    *("step", "decode", "decode_step", "forward_step", "call", "attend", "attention", "encode", "run"),
    "apply_attention",
)


class Called(NamedTuple):
    """What is called."""

    target: Callable[..., Any]
    name: str
    method: str
    """Of a module; "" for anything else."""
    notes: tuple[str, ...]


def unwrapped(target: Any, method: str | None = None) -> Called:
    """What is called for a target.

    Args:
        target: a module, a class or function that makes one, a method of one, or a function of attention.
        method: of the module, where the user says which.

    Raises:
        ArgumentError: it is none of these, or has no method that could be called.
        RunError: making it failed.
    """
    name, notes = "", list[str]()
    if isinstance(target, Target):
        target, name = target.model, target.name
    if not isinstance(target, nn.Module) and _makes(target):
        name = name or _name(target)
        target = _made(target, name)
        if isinstance(target, tuple):
            target = next((one for one in target if isinstance(one, nn.Module)), target)
    if isinstance(target, nn.Module):
        target, wrappers = _inside(target)
        notes += [f"{one} is left out: the module in it is called as it is" for one in wrappers]
        return Called(target, name or type(target).__name__, method or _method(target), tuple(notes))
    original = getattr(target, "_torchdynamo_orig_callable", None)
    if original is not None:
        target = original
        notes.append("the compiled function is left out: the function that was compiled is called as it is")
    if not callable(target):
        raise ArgumentError(f"wanted a module, a function of attention, or what makes one; got {type(target).__name__}")
    return Called(target, name or _name(target), "", tuple(notes))


def _makes(target: Any) -> bool:
    """Whether it is called without arguments to have what is checked."""
    if isinstance(target, nn.Module) or not callable(target):
        return False
    if isinstance(target, functools.partial) and not inspect.isclass(target.func) and target.args:
        return not _wanted(target)
    if not (inspect.isclass(target) or inspect.isroutine(target) or isinstance(target, functools.partial)):
        return False
    try:
        takes = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    if not inspect.isclass(target) and any(one.kind == one.VAR_POSITIONAL for one in takes):
        return False
    return not _wanted(target)


def _wanted(target: Any) -> list[str]:
    takes = inspect.signature(target).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in takes if one.default is one.empty and one.kind not in variable]


def _made(make: Callable[[], Any], name: str) -> Any:
    try:
        return make()
    except (Exception, SystemExit) as error:
        raise RunError(f"{name} was called to make what is to be checked, and {failed(error)}") from error


def _inside(module: nn.Module) -> tuple[nn.Module, list[str]]:
    """The module in wrappers that only pass on what they are given, and what these are called."""
    wrappers: list[str] = []
    while type(module).__name__ in _WRAPPERS:
        inner = next((one for name in _WRAPPED if isinstance(one := getattr(module, name, None), nn.Module)), None)
        if inner is None:
            break
        wrappers.append(type(module).__name__)
        module = inner
    return module, wrappers


def _method(module: nn.Module) -> str:
    """What a module is called by: forward, or where it has none, its own method that reads something.

    Raises:
        ArgumentError: it has neither.
    """
    scripted = isinstance(module, torch.jit.ScriptModule)
    if scripted or type(module).forward is not nn.Module.forward or "forward" in vars(module):
        return "forward"
    own = [
        name
        for one in type(module).__mro__
        if one not in nn.Module.__mro__
        for name, value in vars(one).items()
        if inspect.isfunction(value) and not name.startswith("_") and _wanted(value)[1:]
    ]
    named = [name for name in _METHODS if name in own] or own
    if not named:
        raise ArgumentError(
            f"{type(module).__name__} has no forward and no method that reads something: say which by method="
        )
    return named[0]


def _name(target: Any) -> str:
    target = getattr(target, "func", target) if isinstance(target, functools.partial) else target
    return getattr(target, "__name__", type(target).__name__)
