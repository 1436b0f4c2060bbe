"""Random inputs that suit a target."""

from typing import Any

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.subject import Subject

__all__ = ["sampled"]


def sampled(
    subject: Subject, batch: int = 2, length: int | None = None, seed: int = 0, key: int | None = None
) -> Given:
    """Something for a target to read, without padding.

    Args:
        subject: whose input it is.
        batch: sequences.
        length: tokens; of a function, queries. None for a length that the target is known to take.
        seed: of the random numbers.
        key: tokens of the memory, or of a function its keys; None for two more than is read, where the target allows.
    """
    chance = torch.Generator().manual_seed(seed)
    length = subject.length if length is None else length
    if subject.reads == "qkv":
        return _functions(subject, batch, length, chance, key)
    if subject.reads == "ids":
        tokens = ids(subject.vocabulary or 2, subject.pad, (batch, length), chance)
    elif subject.reads == "floats":
        tokens = _floats(subject, (batch, length, subject.width or 16), chance)
    else:
        tokens = _floats(subject, (batch, *subject.sizes), chance)
    if subject.memory is None:
        return Given(tokens)
    return Given(tokens, memory=_memory(subject, batch, key or length + 2, chance))


def ids(vocabulary: int, pad: int | None, shape: tuple[int, ...], chance: torch.Generator) -> Tensor:
    """Random ids that are not padding; those that configs give a meaning to, at the beginning, are left out.

    The last id is always among them: a vocabulary that is too large is then refused whatever the chance.
    """
    low = min(40, vocabulary // 2)
    found = torch.randint(low, vocabulary, shape, generator=chance)
    found[0, -1] = vocabulary - 1
    return found if pad is None or vocabulary - low < 2 else torch.where(found == pad, low + (pad == low), found)


def _floats(subject: Subject, shape: tuple[int, ...], chance: torch.Generator) -> Tensor:
    # Drawn in double so that routes of other dtypes read the same numbers.
    return torch.randn(shape, generator=chance, dtype=torch.float64).to(subject.dtype)


def _memory(subject: Subject, batch: int, key: int, chance: torch.Generator) -> Tensor:
    if subject.memory_sizes:
        return _floats(subject, (batch, *subject.memory_sizes), chance)
    if subject.memory_reads == "ids":
        return ids(subject.vocabulary or 2, subject.pad, (batch, key), chance)
    return _floats(subject, (batch, key, subject.memory_width or subject.width or 16), chance)


def _functions(subject: Subject, batch: int, length: int, chance: torch.Generator, key: int | None) -> Given:
    shape = subject.shapes[0]
    keys = key or (length if shape.key == shape.query else length + shape.key - shape.query)
    sizes: Any = ((shape.heads, length), (shape.groups, keys), (shape.groups, keys))
    query, keyed, value = (_floats(subject, (batch, heads, many, shape.width), chance) for heads, many in sizes)
    return Given(query, key=keyed, value=value)
