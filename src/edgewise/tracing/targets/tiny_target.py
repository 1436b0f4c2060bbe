"""A type of model as a target: small, random, with something to read."""

from typing import Any

import torch

from edgewise.tracing.targets.target import Target
from edgewise.tracing.tiny import tiny

__all__ = ["tiny_target"]


def tiny_target(type_name: str, *, dtype: torch.dtype | None = None, device: str = "cpu", seed: int = 0) -> Target:
    """A small random model of a type that transformers knows; nothing is fetched.

    Args:
        type_name: as transformers calls it, like "gpt2"; with what it is built for, like "bert:causal".
        dtype: of its weights; None for float32.
        device: where it runs.
        seed: of its weights and of what it reads.

    Raises:
        ArgumentError: there is no such type, or no model of it.
        MissingError: transformers is not installed.
        RunError: it cannot be built small.
    """
    name, _, task = type_name.partition(":")
    made = tiny(name, seed, task or None)
    model = made.model.to(device=device, dtype=dtype)
    inputs = {name: _moved(one, dtype, device) for name, one in made.inputs.items()}
    return Target(f"tiny {type_name}", model, inputs=inputs, reads=f"random {made.reads}")


def _moved(value: Any, dtype: torch.dtype | None, device: str) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(device, dtype if value.is_floating_point() else None)
