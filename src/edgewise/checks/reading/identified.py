"""Padding that a model finds by its id: a padded row should come out as it does without the padding."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.calls.calling import Refused
from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["pads_by_id"]


def pads_by_id(lab: "Lab", name: str) -> Iterator[Observation]:
    """Yield where padding of the declared id, on the right and told by nothing else, changes what comes out."""
    subject, pad = lab.subject, lab.declared.pad
    if subject.reads != "ids" or subject.mask is not None or pad is None:
        return
    for route in lab.where(mask="none", cached=(), packed=False, dtype=None):
        given = lab.given(route)
        tokens, many = given.tokens.clone(), given.length - 2
        tokens[-1, many:] = pad
        try:
            padded = lab.asked(given.replace(tokens=tokens), route)[-1:, :many]
            alone = lab.asked(given.row(given.batch - 1).cut(many), replace(route, batch=1))
        except Refused:
            continue
        size = lab.close(padded, alone, route)
        if size is not None:
            yield Observation(
                name,
                "D3",
                route,
                f"a row padded with id {pad} comes out otherwise than without padding, by {size:.2g}",
                "padding of that id is not read",
                f"padding is found by another id than {pad}, or not at all",
                size=size,
            )
