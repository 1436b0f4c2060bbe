"""Everything that one call of a target is handed: in order, and by name."""

from typing import Any

import torch
from torch import Tensor

from edgewise.checks.calls.arguments import (
    Refused,
    counted,
    document_value,
    mask_value,
    position_value,
    square_value,
)
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Argument, Subject

__all__ = ["handed"]


def handed(
    subject: Subject, given: Given, route: Route, start: int = 0, stop: int | None = None, cache: Any = None
) -> tuple[list[Any], dict[str, Any]]:
    """What is handed over in order, and by name.

    Args:
        subject: how the target is called.
        given: the whole of what it reads.
        route: which way.
        start: of a cached route: the first token of this call.
        stop: the end of this call.
        cache: what earlier calls left.

    Raises:
        Refused: the target cannot be told something of it.
    """
    whole = given
    given = given if stop is None else given.slice(start, stop)
    copies = given.copied(contiguous=route.contiguous)
    named: dict[str, Any] = {name: _repeated(one, subject, given.batch) for name, one in subject.fixed.items()}
    firsts = _firsts(subject, copies)
    _tell_masks(subject, whole, given, route, (start, stop), named)
    _tell_places(subject, whole, given, route, (start, stop), named)
    _tell_memory(subject, copies, named, firsts)
    named.update(route.switches)
    if subject.targets:
        named[subject.targets] = copies.tokens.clone()
    if subject.weights is not None and route.weights is not None:
        _tell(named, subject.weights, route.weights)
        named.update(subject.weights_asked if route.weights else {})
    if route.cached and subject.caching is not None:
        named.update(subject.caching.asked)
        if subject.caching.name and (cache is not None or subject.caching.method not in ("forward", "")):
            named[subject.caching.name] = cache
    elif subject.cache is not None and subject.cache.required:
        named[subject.cache.name] = None
    named = {name: _moved(one, subject) for name, one in named.items()}
    if subject.positional:
        return list(firsts.values()), named
    return [], {**firsts, **named}


def _firsts(subject: Subject, given: Given) -> dict[str, Tensor]:
    """What the target reads, by argument."""
    if subject.reads == "qkv":
        if given.key is None or given.value is None:
            raise Refused("it wants queries, keys and values, and was given one thing to read")
        several = (given.tokens, given.key, given.value)
        return dict(zip(subject.main, (_laid(subject, one) for one in several), strict=False))
    tokens = given.tokens.transpose(0, 1) if subject.layout == "time first" else given.tokens
    # Several arguments are the very same object, as where it is written attention(x, x, x).
    return dict.fromkeys(subject.main, tokens)


def _laid(subject: Subject, one: Tensor) -> Tensor:
    if subject.layout == "heads third":
        return one.transpose(1, 2)
    return one[:, 0] if subject.layout == "no heads" else one


def _tell(named: dict[str, Any], argument: Argument, value: Any) -> None:
    for name in (argument.name, *argument.also):
        named[name] = value


def _tell_masks(
    subject: Subject, whole: Given, given: Given, route: Route, span: tuple[int, int | None], named: dict[str, Any]
) -> None:
    """Which tokens are real, and which pairs may attend."""
    start, stop = span
    cached = route.cached and subject.caching is not None
    over = (
        whole.cut(stop)
        if cached and stop is not None and subject.caching and subject.caching.mask == "whole"
        else given
    )
    keep, mask, square = over.keep, subject.mask, subject.square_mask
    if keep is None and mask is not None and mask.required:
        keep = torch.ones(over.batch, _keys(over), dtype=torch.bool, device=subject.device)
    allowed = given.allowed
    if cached and stop is not None and whole.allowed is not None:
        allowed = whole.allowed[start:stop, :stop]
    shared = mask is not None and square is not None and mask.name == square.name
    if allowed is None and square is not None and square.required and not (shared and keep is not None):
        allowed = torch.ones(given.length, _keys(over), dtype=torch.bool, device=subject.device)
    if keep is not None and mask is None and not subject.pads_by_id:
        raise Refused("it takes no mask of padding")
    if allowed is not None and square is None:
        raise Refused("it takes no square mask")
    if square is not None and allowed is not None:
        _tell(named, square, square_value(square, allowed, keep if shared else None, subject, given.batch))
    if mask is not None and keep is not None and not (shared and allowed is not None):
        keep = torch.cat([_heard(given), keep], dim=1) if mask.shape == "batch memory+key" else keep
        _tell(named, mask, mask_value(mask, keep, subject, given.length))


def _heard(given: Given) -> Tensor:
    """Which tokens of the memory are real: a mask over memory and tokens begins with them."""
    if given.memory_keep is not None:
        return given.memory_keep
    if given.memory is None:
        raise Refused("its mask is over memory and tokens, and it was given no memory")
    return torch.ones(given.memory.shape[:2], dtype=torch.bool, device=given.memory.device)


def _keys(given: Given) -> int:
    return given.length if given.key is None else given.key.shape[2]


def _tell_places(
    subject: Subject, whole: Given, given: Given, route: Route, span: tuple[int, int | None], named: dict[str, Any]
) -> None:
    """At which positions the tokens stand, and which document each is of."""
    start, stop = span
    positions, documents = subject.positions, subject.documents
    if whole.documents is not None or (documents is not None and documents.required):
        if documents is not None:
            plain = torch.zeros(given.batch, given.length, dtype=torch.long, device=subject.device)
            _tell(named, documents, document_value(documents, plain if given.documents is None else given.documents))
        elif positions is None:
            raise Refused("it cannot be told where documents begin: it takes neither positions nor documents")
    if positions is None:
        if whole.positions is not None:
            raise Refused("it takes no positions")
        return
    # Padding at the end moves no real token, so that nobody would say positions for its sake.
    moved = whole.keep is not None and bool((~whole.keep[:, :-1] & whole.keep[:, 1:]).any())
    asked = whole.positions is not None or whole.documents is not None or moved or (route.places and bool(route.cached))
    if positions.required or positions.always or asked:
        if positions.form == "start" and (moved or whole.documents is not None):
            raise Refused(f"{positions.name} is one number for all sequences, and here positions differ")
        _tell(named, positions, position_value(positions, counted(whole)[:, start:stop], start))


def _tell_memory(subject: Subject, given: Given, named: dict[str, Any], firsts: dict[str, Tensor]) -> None:
    """What cross attention reads."""
    if given.memory is None:
        if subject.memory is not None and subject.memory.required:
            raise Refused(f"it reads a memory ({subject.memory.name}) and was given none")
        return
    if subject.memory is None:
        raise Refused("it reads no memory")
    memory = given.memory.transpose(0, 1) if subject.layout == "time first" and given.memory.dim() > 1 else given.memory
    names = (subject.memory.name, *subject.memory.also)
    for name, width in zip(names, subject.memory_widths or (None,) * len(names), strict=True):
        (firsts if name in firsts else named)[name] = memory if width is None else memory[..., :width]
    mask = subject.memory_mask
    keep = given.memory_keep
    if keep is None and mask is not None and mask.required:
        keep = torch.ones(given.memory.shape[:2], dtype=torch.bool, device=subject.device)
    if keep is None:
        return
    if mask is None:
        raise Refused("it takes no mask of its memory")
    _tell(named, mask, mask_value(mask, keep, subject, given.length))


def _repeated(value: Any, subject: Subject, batch: int) -> Any:
    """What the library's models are always given belongs to sequences: the first one's, for so many of them."""
    if subject.library != "transformers" or not isinstance(value, Tensor) or value.dim() == 0:
        return value
    return value[torch.zeros(batch, dtype=torch.long, device=value.device)]


def _moved(value: Any, subject: Subject) -> Any:
    """On the target's device, and a number in its dtype."""
    if not isinstance(value, Tensor):
        return value
    return value.to(subject.device, subject.dtype if value.is_floating_point() else None)
