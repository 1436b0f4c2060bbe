"""Which module of a model is running, found on the Python stack at the moment when attention is called.

Nothing is attached to the model. A hook on a module switches off the fast paths of torch's own layers, and a hook on
all modules runs for every one of them, attention or not; the stack already says who called, in every thread, after
every exception, and costs a few microseconds where it is asked. What it says is read from the frames of functions
whose first argument is a module of the model, and only looked at.
"""

import inspect
import re
import sys
from types import FrameType
from typing import Any, NamedTuple

from torch import Tensor, nn

from edgewise.records import Kind

__all__ = ["Names", "Place", "names_of", "running"]

Names = dict[nn.Module, str]

# What the forward pass of a module that reads another sequence calls that sequence.
_OTHER = (
    *("key_value_states", "encoder_hidden_states", "cross_attention_states", "encoder_states", "kv_states"),
    *("memory", "context", "encoder_output", "encoder_out"),
)
_CACHES = ("past_key_values", "past_key_value", "cache", "layer_past")


class Place(NamedTuple):
    """Where in a model attention is called from."""

    module: nn.Module | None
    """The innermost module of the model that is running."""
    name: str
    """Its path in the model."""
    layer: int | None
    """Its number among its like, where its path has one."""
    kind: Kind
    """Whether queries and keys come from the same sequence."""
    position: int | None
    """Where the cache that the module was given says that the first query stands; None without a cache."""

    def child(self, name: str, names: Names) -> "Place":
        """The place of a child of the module."""
        module = getattr(self.module, name)
        return self._replace(module=module, name=names[module])


def names_of(model: object) -> Names:
    """The path of each module in the model; the wrapper that compiling adds is left out.

    Example:
        >>> list(names_of(nn.Sequential(nn.Linear(2, 2))).values())
        ['Sequential', '0']
    """
    if not isinstance(model, nn.Module):
        return {}
    found = {module: name.replace("_orig_mod.", "") for name, module in model.named_modules()}
    return {module: name.removesuffix("_orig_mod") or type(module).__name__ for module, name in found.items()}


def running(names: Names, query: int, key: int, module: nn.Module | None = None) -> Place | None:
    """The place that attention is called from, or None where no module of the model is running.

    Args:
        names: the modules of the model.
        query: number of queries.
        key: number of keys.
        module: the module that calls, where that is known; the innermost one is looked for otherwise.
    """
    if names and module not in names:
        module = None  # another model's, unless it runs within this one
    frame = _frame(names, module)
    if frame is None:
        return None if module not in names else _place(names, module, {}, {}, query, key)
    found, code = frame.f_locals, frame.f_code
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    arguments = {name: found[name] for name in given if name in found}
    for more in ("args", "kwargs"):
        # A wrapper's frame: the module's own function does not call its first argument self.
        values = found.get(more)
        arguments |= values if isinstance(values, dict) else dict(enumerate(values or ()))
    return _place(names, found["self"], arguments, found, query, key)


def layer_of(module: nn.Module | None, name: str) -> int | None:
    """The number of a layer: as the module itself says, or the first one in its path."""
    said = getattr(module, "layer_idx", None)
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    found = re.search(r"(?:^|\.)(\d+)(?:\.|$)", name)
    return int(found[1]) if found else None


def _frame(names: Names, module: nn.Module | None) -> FrameType | None:
    """The innermost frame of a function of `module`, or of any module of the model."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        # Only a function's own frame: the locals of other frames are a namespace that somebody else owns.
        if code.co_flags & inspect.CO_OPTIMIZED and code.co_argcount and code.co_varnames[0] == "self":
            owner = frame.f_locals.get("self")
            if isinstance(owner, nn.Module) and (owner is module if module is not None else owner in names):
                return frame
        frame = frame.f_back
    return None


def _place(
    names: Names, module: nn.Module | None, arguments: dict[Any, Any], local: dict[str, Any], query: int, key: int
) -> Place:
    name = "" if module is None else names.get(module) or type(module).__name__
    position = _position(module, arguments, query)
    kind = _kind(module, arguments, local.get("is_cross_attention"), query, key, position is not None)
    return Place(module, name, layer_of(module, name), kind, position if kind == "self" else None)


def _kind(
    module: nn.Module | None, arguments: dict[Any, Any], cross: object, query: int, key: int, cached: bool
) -> Kind:
    """What the module's own arguments say; where they say nothing, one sequence is what reads itself."""
    for said in (cross, getattr(module, "is_cross_attention", None)):
        if isinstance(said, bool):
            return "cross" if said else "self"
    if any(isinstance(arguments.get(name), Tensor) for name in _OTHER):
        return "cross"
    one, other = arguments.get("query"), arguments.get("key")
    if isinstance(module, nn.MultiheadAttention) and isinstance(one, Tensor) and isinstance(other, Tensor):
        return "self" if one is other or _same(one, other) else "cross"
    if query == key or cached:
        return "self"
    return "cross" if _sequences(arguments) > 1 else "self"


def _same(one: Tensor, other: Tensor) -> bool:
    if one.is_nested or other.is_nested:
        return False
    return (one.shape, one.stride(), one.data_ptr()) == (other.shape, other.stride(), other.data_ptr())


def _sequences(arguments: dict[Any, Any]) -> int:
    """How many of the arguments look like sequences of vectors."""
    tensors = {id(one): one for one in arguments.values() if isinstance(one, Tensor)}
    return sum(one.dim() == 3 and one.dtype.is_floating_point for one in tensors.values())


def _position(module: nn.Module | None, arguments: dict[Any, Any], query: int) -> int | None:
    """Where the first query stands, by a cache that counts what it has seen (transformers' caches do)."""
    for cache in map(arguments.get, _CACHES):
        length = getattr(cache, "get_seq_length", None)
        if callable(length):
            layer = getattr(module, "layer_idx", None)
            try:
                seen = length(layer) if isinstance(layer, int) else length()
            except ValueError:
                continue  # a layer that keeps a state and counts no keys
            return max(0, int(seen) - query)  # pyright: ignore[reportArgumentType] - an int or a tensor of one
    return None
