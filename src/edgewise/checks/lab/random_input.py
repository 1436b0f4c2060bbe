"""A random input that suits a route: as padded, as many sequences, and as packed as the route says."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Subject

__all__ = ["SPECIAL", "random_input"]

SPECIAL = 40
"""Ids below this may have a meaning of their own."""

ROWS = 8


class Sizes(NamedTuple):
    """How much of everything."""

    batch: int
    length: int
    memory: int


def random_input(subject: Subject, route: Route, length: int, seed: int, allowed: Tensor | None = None) -> Given:
    """An input with real tokens that are all ordinary ones.

    Row 0 of a padded batch is whole, each further one has one more pad, from two on; one row alone has two.

    Args:
        subject: what reads it.
        route: which way.
        length: tokens.
        seed: of the numbers.
        allowed: a square mask (query, key), where it is handed one.
    """
    chance = torch.Generator().manual_seed(seed)
    sizes = Sizes(route.batch, length, length + 3)
    function = subject.reads == "qkv"
    given = _of_function(subject, sizes, chance) if function else Given(_tokens(subject, sizes, chance))
    given = given.replace(**_said(subject, route, given, sizes), **_memory(subject, route, sizes, chance))
    if allowed is not None:
        given = given.replace(allowed=allowed)
    return given.to(device=subject.device)


def _tokens(subject: Subject, sizes: Sizes, chance: torch.Generator) -> Tensor:
    if subject.reads == "ids":
        return _ids(subject, (sizes.batch, sizes.length), chance)
    if subject.reads in ("pixels", "features"):
        return _floats(subject, (sizes.batch, *subject.sizes), chance)
    return _floats(subject, (sizes.batch, sizes.length, subject.width or 16), chance)


def _ids(subject: Subject, shape: tuple[int, ...], chance: torch.Generator) -> Tensor:
    most = subject.vocabulary or 2
    low = min(SPECIAL, most // 2)
    ids = torch.randint(low, most, _rows(shape), generator=chance)[: shape[0]]
    if subject.pad is not None:
        other = subject.pad + 1 if subject.pad + 1 < most else max(0, subject.pad - 1)
        ids[ids == subject.pad] = other
    return ids


def _floats(subject: Subject, shape: tuple[int, ...], chance: torch.Generator) -> Tensor:
    return torch.randn(_rows(shape), generator=chance, dtype=torch.float64)[: shape[0]].to(subject.dtype)


def _rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """As many rows as any route has: a row has the same numbers in a batch of any size."""
    return (max(ROWS, shape[0]), *shape[1:])


def _of_function(subject: Subject, sizes: Sizes, chance: torch.Generator) -> Given:
    shape = subject.shapes[0] if subject.shapes else None
    heads = shape.heads if shape else subject.heads or 4
    groups = shape.groups if shape else subject.groups or heads
    width = shape.width if shape else subject.head_width or 8
    query = _floats(subject, (sizes.batch, heads, sizes.length, width), chance)
    key, value = (_floats(subject, (sizes.batch, groups, sizes.length, width), chance) for _ in range(2))
    return Given(query, key=key, value=value)


def _said(subject: Subject, route: Route, given: Given, sizes: Sizes) -> dict[str, Any]:
    """Which tokens are real, where they stand, and whose they are."""
    if subject.reads in ("pixels", "features"):
        return {}
    found: dict[str, Any] = {}
    if route.mask != "none":
        keep = torch.ones(sizes.batch, sizes.length, dtype=torch.bool)
        if route.mask in ("left", "right"):
            for row in range(sizes.batch):
                many = min(2 if sizes.batch == 1 else row + 1 if row else 0, sizes.length - 1)
                keep[row, : many if route.mask == "left" else 0] = False
                keep[row, sizes.length - many if route.mask == "right" else sizes.length :] = False
        found["keep"] = keep
        if subject.reads == "ids" and subject.pad is not None:
            found["tokens"] = given.tokens.masked_fill(~keep, subject.pad)
    if not route.packed and subject.documents is not None and subject.documents.required:
        found["documents"] = torch.zeros(sizes.batch, sizes.length, dtype=torch.long)
    if route.packed:
        starts = [sizes.length // 2 - 1, sizes.length - 1] if sizes.length > 4 else [sizes.length // 2]
        cut = torch.zeros(sizes.length, dtype=torch.long)
        cut[starts] = 1
        documents = cut.cumsum(0)
        begin = torch.cat([torch.zeros(1, dtype=torch.long), torch.tensor(starts)])[documents]
        shape = (sizes.batch, sizes.length)
        found["documents"] = documents.expand(shape).contiguous()
        if subject.positions is not None:
            found["positions"] = (torch.arange(sizes.length) - begin).expand(shape).contiguous()
    return found


def _memory(subject: Subject, route: Route, sizes: Sizes, chance: torch.Generator) -> dict[str, Any]:
    """What cross attention reads; padded at its end where the route is padded."""
    if subject.memory is None:
        return {}
    if subject.memory_sizes:
        return {"memory": _floats(subject, (sizes.batch, *subject.memory_sizes), chance)}
    if subject.memory_reads == "ids":
        memory = _ids(subject, (sizes.batch, sizes.memory), chance)
    else:
        memory = _floats(subject, (sizes.batch, sizes.memory, subject.memory_width or subject.width or 16), chance)
    if subject.memory_mask is None or route.mask == "none":
        return {"memory": memory}
    keep = torch.ones(sizes.batch, sizes.memory, dtype=torch.bool)
    if route.mask in ("left", "right"):
        for row in range(sizes.batch):
            many = 2 if sizes.batch == 1 else row + 1 if row else 0
            keep[row, sizes.memory - many :] = False
    if subject.memory_reads == "ids" and subject.pad is not None:
        memory = memory.masked_fill(~keep, subject.pad)
    return {"memory": memory, "memory_keep": keep}
