"""A target held still while it is called: its mode, its dropout, its backend, and everything that draws numbers."""

import random
import re
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["drawn", "moded", "seeded"]


@contextmanager
def seeded(seed: int, *, everything: bool = True) -> Generator[None]:
    """While this lasts, torch, numpy and random draw what they draw after this seed; as they were, afterwards.

    Args:
        seed: of all of them.
        everything: else torch alone, which is several times quicker than a small layer's call.
    """
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=devices), _others(seed) if everything else nullcontext():
        # What torch.manual_seed does, without asking every device there might be.
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def _others(seed: int) -> Generator[None]:
    python, numbers = drawn()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)


def drawn() -> tuple[Any, Any]:
    """Where Python's and numpy's global random numbers stand."""
    return random.getstate(), np.random.get_state(legacy=False)


@contextmanager
def moded(modules: Sequence[nn.Module], *, training: bool, dropout: bool) -> Generator[None]:
    """While this lasts, modules are in a mode; as they were, afterwards, and so are their buffers where they trained.

    Args:
        modules: with all that is in them.
        training: else evaluation mode.
        dropout: whether dropout stays what it is in training mode; else it is zero there.
    """
    with ExitStack() as undo:
        for one in (part for module in modules for part in module.modules()):
            if one.training != training:
                undo.callback(setattr, one, "training", one.training)
                one.training = training
            if training and not dropout:
                _without_dropout(one, undo)
        if training:
            held = [part for module in modules for part in module.modules()]
            kept = [(one, one.detach().clone()) for part in held for one in part.buffers(recurse=False)]
            undo.callback(_put_back, kept)
            for part in held:
                undo.callback(_held_again, part, dict(part._buffers))
        yield


def _without_dropout(module: nn.Module, undo: ExitStack) -> None:
    """Every probability of leaving out or masking something at random, on a module or in its config, is zero."""
    is_dropout = "drop" in type(module).__name__.lower()
    for holder in (module, vars(module).get("config")):
        named: dict[str, Any] = vars(holder) if hasattr(holder, "__dict__") else {}
        for name, value in list(named.items()):
            if type(value) is float and 0 < value <= 1 and (_DROPS.search(name) or (is_dropout and name == "p")):
                undo.callback(setattr, holder, name, value)
                setattr(holder, name, 0.0)


_DROPS = re.compile(r"drop|mask_(time|feature)_prob")


def _held_again(module: nn.Module, buffers: dict[str, torch.Tensor | None]) -> None:
    """The buffers are those that there were, where a call has put others in their place."""
    module._buffers.update(buffers)


def _put_back(kept: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    with torch.no_grad():
        for buffer, value in kept:
            if not torch.equal(buffer, value):
                buffer.copy_(value)
