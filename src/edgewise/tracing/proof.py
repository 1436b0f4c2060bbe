"""The proof that looking changed nothing: the same run untouched and watched, number by number."""

import copy
import math
import random
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from edgewise.records import Proof

__all__ = ["Numbers", "difference", "numbers_of", "proven", "repeatable", "rewinder"]

Forward = Callable[[object, Any], Any]


class Numbers(NamedTuple):
    """What a run gave."""

    outputs: list[Tensor]
    gradients: list[Tensor]


def numbers_of(model: object, forward: Forward, inputs: Any, *, gradients: bool) -> Numbers:
    """The outputs of a run, and the gradients of the sum of their squares if they are wanted."""
    # A cache that is handed in is written into: each run gets one of its own.
    own = _own(inputs)
    with torch.set_grad_enabled(gradients):
        outputs = [one for one in _tensors(forward(model, own)) if not one.is_nested]
    if not gradients:
        return Numbers([one.detach() for one in outputs], [])
    loss = sum((one.float().square().sum() for one in outputs if one.requires_grad), torch.zeros(()))
    wanted = [one for one in model.parameters() if one.requires_grad] if isinstance(model, nn.Module) else []
    found: Any = torch.autograd.grad(loss, wanted, allow_unused=True) if wanted and loss.requires_grad else ()
    return Numbers([one.detach() for one in outputs], [one for one in found if one is not None])


def proven(plain: Numbers, watched: Numbers, again: Callable[[], Numbers]) -> Proof:
    """What the comparison of two runs says; `again` repeats the untouched one, for the noise, where they differ."""
    largest = difference(plain.outputs, watched.outputs)
    noise = 0.0 if largest == 0 else difference(plain.outputs, again().outputs)
    return Proof(
        checked=True,
        difference=largest,
        noise=noise,
        outputs=sum(one.numel() for one in plain.outputs),
        **_of_gradients(plain, watched),
    )


def difference(one: list[Tensor], other: list[Tensor]) -> float:
    """The largest difference between two lists of tensors; infinite where they are not alike in shape."""
    if [tensor.shape for tensor in one] != [tensor.shape for tensor in other]:
        return math.inf
    return max((_apart(*pair) for pair in zip(one, other, strict=True)), default=0.0)


@contextmanager
def repeatable(model: object) -> Generator[None]:
    """While this lasts the run may draw random numbers and write into buffers; afterwards all is as it was."""
    back = rewinder(model)
    try:
        yield
    finally:
        back()


def rewinder(model: object) -> Callable[[], None]:
    """What puts random numbers and buffers back to how they are now."""
    python, numbers, torchs = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    training = isinstance(model, nn.Module) and model.training
    buffers = [(one, one.clone()) for one in model.buffers()] if training else []  # pyright: ignore[reportAttributeAccessIssue]

    def back() -> None:
        random.setstate(python)
        np.random.set_state(numbers)
        torch.set_rng_state(torchs)
        torch.cuda.set_rng_state_all(cuda)
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)

    return back


def _of_gradients(plain: Numbers, watched: Numbers) -> dict[str, Any]:
    if not plain.gradients and not watched.gradients:
        return {}
    return {
        "gradients": difference(plain.gradients, watched.gradients),
        "gradient_numbers": sum(one.numel() for one in plain.gradients),
    }


def _apart(one: Tensor, other: Tensor) -> float:
    if torch.equal(one, other):
        return 0.0
    same = (one == other) | (one.isnan() & other.isnan())
    apart = (one.double() - other.double()).abs().masked_fill(same, 0)
    return math.inf if bool(apart.isnan().any()) else float(apart.max())


def _own(inputs: Any) -> Any:
    if isinstance(inputs, Tensor):
        return inputs
    if isinstance(inputs, Mapping):
        return {name: _own(one) for name, one in inputs.items()}
    if type(inputs) in (list, tuple):
        return type(inputs)(_own(one) for one in inputs)
    return copy.deepcopy(inputs)


def _tensors(result: Any) -> Iterator[Tensor]:
    """The tensors in whatever a model returns; a cache is no output."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, Mapping):
        for one in result.values():
            yield from _tensors(one)
    elif isinstance(result, list | tuple):
        for one in result:
            yield from _tensors(one)
    elif is_dataclass(result) and not isinstance(result, type):
        for field in fields(result):
            yield from _tensors(getattr(result, field.name))
