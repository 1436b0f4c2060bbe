"""How far outputs move when an input is changed: many changes at once, each in a copy of the row, or one at a time.

Changed copies are compared with the same batch unchanged, place by place: what does not depend on the change is then
still to the last bit, because it was computed by the same code on the same numbers at the same place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given

__all__ = ["Ask", "Change", "Movement", "apart", "movement", "one_by_one"]

Ask = Callable[[Given], Tensor]
"""The outputs for an input: (batch, query, channels) or (batch, heads, query, width)."""

TOKENS = 4096
"""Tokens in one call at most, so that memory stays small."""


class Change(NamedTuple):
    """One change of one row: other values at one token."""

    token: int
    value: Tensor
    """What stands there instead: an id, (channels) or (groups, width)."""
    scale: float = 1.0
    """What the rest of the row is multiplied by, in the baseline as well."""
    large: bool = False
    """Whether the value is much larger than what is around it."""


@dataclass(frozen=True, eq=False)
class Movement:
    """What came of some changes."""

    size: Tensor
    """(changes, query) or (changes, heads, query): how far the row's own outputs moved."""
    others: float
    """How far outputs of unchanged rows moved, at most."""
    largest: Tensor
    """(changes,): the largest output of the row, before or after."""
    placed: float = 0.0
    """How far copies of the row, unchanged, are from the row itself: more than rounding where its place matters."""


def movement(ask: Ask, given: Given, field: str, row: int, changes: Sequence[Change]) -> Movement:
    """How far each change of a row moves its outputs, all of them in batches of copies.

    The rows of the input stand before the copies and one of them behind, unchanged, to see whether rows mix.

    Args:
        ask: what gives outputs.
        given: the input.
        field: which part of it is changed.
        row: which row of the batch.
        changes: the changes.
    """
    step = max(1, TOKENS // max(1, given.length) - given.batch - 1)
    parts = [_together(ask, given, field, row, changes[at : at + step]) for at in range(0, len(changes), step)]
    return _joined(parts)


def one_by_one(ask: Ask, given: Given, field: str, row: int, changes: Sequence[Change]) -> Movement:
    """As `movement`, each change in a call of its own: where rows mix, or code goes by their number."""
    before: dict[float, Tensor] = {}
    parts: list[Movement] = []
    for change in changes:
        still, moved = (_changed(given, field, [row], [change], only_scale=one) for one in (True, False))
        if change.scale not in before:
            before[change.scale] = ask(still)
        old, new = before[change.scale], ask(moved)
        sizes = apart(new, old)
        others = torch.cat([sizes[:row], sizes[row + 1 :]])
        largest = _largest(torch.stack([old[row], new[row]])).amax()[None]
        parts.append(Movement(sizes[row : row + 1], _most(others), largest))
    return _joined(parts)


def apart(one: Tensor, other: Tensor) -> Tensor:
    """How far two outputs are from each other at each query; infinite where only one of them is a number."""
    one, other = (side.detach().to(torch.promote_types(side.dtype, torch.float32)) for side in (one, other))
    same = (one == other) | (one.isnan() & other.isnan())
    return (one - other).abs().masked_fill(same, 0).nan_to_num(torch.inf, torch.inf).amax(-1)


def _together(ask: Ask, given: Given, field: str, row: int, changes: Sequence[Change]) -> Movement:
    batch = given.batch
    rows = [*range(batch), *[row] * len(changes), 0]
    places = range(batch, batch + len(changes))
    copies = given.rows(rows)
    before = ask(_changed(copies, field, places, changes, only_scale=True))
    after = ask(_changed(copies, field, places, changes, only_scale=False))
    sizes = apart(after, before)
    own = slice(batch, batch + len(changes))
    others = torch.cat([sizes[:batch], sizes[-1:]])
    largest = _largest(torch.stack([before[own], after[own]])).amax(0)
    placed = 0.0 if changes[0].scale != 1 else _most(apart(before[own], before[row : row + 1].expand_as(before[own])))
    return Movement(sizes[own], _most(others), largest, placed)


def _changed(given: Given, field: str, places: Sequence[int], changes: Sequence[Change], *, only_scale: bool) -> Given:
    """The input with each change made in its row, or with the rows only scaled."""
    names = ("tokens", "memory", "key", "value")
    held: dict[str, Tensor] = {}
    for place, change in zip(places, changes, strict=True):
        if change.scale != 1:
            for name in names[:3]:
                if isinstance(getattr(given, name), Tensor) and getattr(given, name).is_floating_point():
                    held.setdefault(name, getattr(given, name).clone())[place] *= change.scale
        if not only_scale:
            values = held.setdefault(field, getattr(given, field).clone())
            # Of query, key and value of a function, tokens stand behind heads.
            at = (place, slice(None), change.token) if values.dim() == 4 else (place, change.token)
            values[at] = change.value.to(values)
    return given.replace(**held) if held else given


def _joined(parts: Sequence[Movement]) -> Movement:
    sizes, largest = (torch.cat([getattr(part, name) for part in parts]) for name in ("size", "largest"))
    return Movement(sizes, max(part.others for part in parts), largest, max(part.placed for part in parts))


def _largest(outputs: Tensor) -> Tensor:
    """The largest finite number of each output, over all but its first two axes."""
    finite = outputs.detach().abs().masked_fill(~outputs.isfinite(), 0)
    return finite.float().flatten(2).amax(-1) if outputs.dim() > 2 else finite.float().amax(-1)


def _most(sizes: Tensor) -> float:
    return float(sizes.max()) if sizes.numel() else 0.0
