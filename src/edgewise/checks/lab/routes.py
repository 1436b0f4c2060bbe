"""The routes of a target: the plain one, each choice changed alone, and the pairs of choices that faults live in."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from edgewise.checks.calls.route import Padding, Route
from edgewise.checks.calls.subject import Subject

__all__ = ["LENGTH", "plain_of", "swept"]

LENGTH = 8

_DTYPES = {torch.float64: "float64", torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}


def plain_of(subject: Subject) -> Route:
    """The route with everything at its default; a mask that must be given hides nothing."""
    required = subject.mask is not None and subject.mask.required
    return Route(weights=None if subject.weights is None else False, mask="ones" if required else "none")


def swept(subject: Subject, length: int) -> tuple[Route, ...]:
    """All routes, the plain one first, each once."""
    plain = plain_of(subject)
    return tuple(dict.fromkeys([plain, *_single(subject, plain, length), *_pairs(subject, plain, length)]))


def _single(subject: Subject, plain: Route, length: int) -> Iterator[Route]:
    yield from (replace(plain, mask=mask) for mask in _masks(subject, plain))
    if plain.weights is not None:
        yield replace(plain, weights=True)
    yield replace(plain, batch=1)
    yield from (replace(plain, cached=cached) for cached in _caches(subject, length))
    yield from (replace(plain, switches=(one,)) for one in _switches(subject))
    yield from (replace(plain, backend=one) for one in subject.backends)
    yield from (replace(plain, dtype=one) for one in _dtypes(subject))
    yield replace(plain, contiguous=False)
    if subject.module is not None:
        yield replace(plain, training=True)
    if _packs(subject):
        yield replace(plain, packed=True, mask=plain.mask)


def _pairs(subject: Subject, plain: Route, length: int) -> Iterator[Route]:
    masks = _masks(subject, plain)
    padded = [one for one in masks if one in ("left", "right")]
    caches = _caches(subject, length)
    if plain.weights is not None:
        yield from (replace(plain, weights=True, mask=one) for one in masks)
        yield from (replace(plain, weights=True, cached=one) for one in caches[:1])
        yield from (replace(plain, weights=True, batch=1, mask=one) for one in (plain.mask, *padded[:1]))
    yield from (replace(plain, batch=1, mask=one) for one in masks)
    for backend in subject.backends:
        # Flex attention takes its time even where it is not compiled: one padded route, and no cached one.
        slow = backend == "flex_attention"
        yield from (replace(plain, backend=backend, mask=one) for one in padded[: 1 if slow else None])
        yield from (replace(plain, backend=backend, cached=one) for one in caches[: 0 if slow else 1])
    yield from (replace(plain, cached=one, mask="left") for one in caches[:1] if "left" in masks)
    yield from (replace(plain, cached=one, batch=1) for one in caches[:1])
    for switch in _switches(subject):
        yield from (replace(plain, switches=(switch,), mask=one) for one in padded)
        yield from (replace(plain, switches=(switch,), cached=one) for one in caches[:1])
        yield from (replace(plain, switches=(switch,), batch=1) for _ in range(1))
        if plain.weights is not None:
            yield replace(plain, switches=(switch,), weights=True)
    for dtype in _dtypes(subject):
        yield from (replace(plain, dtype=dtype, mask=one) for one in padded)
    if subject.module is not None:
        yield from (replace(plain, training=True, mask=one) for one in padded)
    if _packs(subject):
        yield replace(plain, packed=True, batch=1)
        yield from (replace(plain, packed=True, backend=one) for one in subject.backends)
        yield from (replace(plain, packed=True, switches=(one,)) for one in _switches(subject))
        if plain.weights is not None:
            yield replace(plain, packed=True, weights=True)


def _masks(subject: Subject, plain: Route) -> list[Padding]:
    masks: list[Padding] = ["ones", "left", "right"]
    if subject.mask is None:
        # A target that finds padding by its id alone is padded all the same.
        masks = ["left", "right"] if subject.reads == "ids" and subject.pad is not None else []
    elif subject.mask.form == "lengths":
        masks.remove("left")
    return [one for one in masks if one != plain.mask]


def _caches(subject: Subject, length: int) -> list[tuple[int, ...]]:
    """A prompt and single tokens, single tokens alone, and chunks of uneven length where more than a step is taken."""
    if subject.caching is None:
        return []
    if subject.caching.single:
        return [(1,) * length]
    prompt = max(1, length // 2 - 1)
    found = [(prompt, *(1,) * (length - prompt)), (1,) * length]
    stepwise = subject.caching.method not in ("", "forward")
    return found if stepwise or length - prompt < 4 else [*found, (prompt, 2, length - prompt - 2)]


def _switches(subject: Subject) -> list[tuple[str, Any]]:
    found = [(name, value) for name, values in subject.switches for value in values[1:]]
    if subject.causal_flag is not None and subject.causal_flag.name not in dict(subject.switches):
        found.append((subject.causal_flag.name, True))
    square = subject.square_mask
    if square is not None and not square.required:
        found.append((square.name, True))  # handed over, by the lab: the graph that is declared, or causal
    return found


def _dtypes(subject: Subject) -> list[str]:
    if subject.dtype not in (torch.float64, torch.float32):
        return []
    own = _DTYPES[subject.dtype]
    return [one for one in ("float32", "bfloat16", "float16") if one != own]


def _packs(subject: Subject) -> bool:
    if subject.documents is not None or subject.pooled:
        return not subject.pooled  # one answer for all the documents of a row is none for each
    return subject.positions is not None and subject.library != "transformers"
