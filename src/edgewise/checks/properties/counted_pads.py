"""One answer for a whole sequence: whether a mean counts padding, and on which side padding is expected."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.left_padding import contents_matter
from edgewise.checks.reading import alone

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["by_side", "counted_pads"]


def counted_pads(lab: "Lab", routes: list[Route]) -> Iterator[Observation]:
    """Yield each route on which a pooled answer depends on the number of pads, and not on what they hold."""
    if not lab.subject.pooled or lab.subject.random or not lab.subject.finite:
        return
    for route in routes:
        if route.mask != "right" or route.dtype is not None or route.training or not route.contiguous:
            continue
        try:
            found = _compared(lab, route)
        except (Refused, Skip):
            continue
        if found is not None:
            yield found


def by_side(lab: "Lab", seen: Sequence[Observation], routes: list[Route]) -> Iterator[Observation]:
    """Yield what was seen, of one answer taken from one place: the first is padded on the right, as class tokens are.

    An answer of the last place is a fault where padding may stand there.
    """
    sides = {one.route.mask for one in seen}
    placed = lab.subject.pooled and len(sides) == 1 and len({one.mask for one in routes}) == 2
    for one in seen:
        if placed and sides == {"left"}:
            yield replace(one, warning=True, likely="the answer is that of the first token: pad on the right")
        elif placed and one.kind == "D4":
            words = (
                "the answer is that of the last place, which is padding: take the last real token, or pad on the left"
            )
            yield replace(one, likely=words)
        else:
            yield one


def _compared(lab: "Lab", route: Route) -> Observation | None:
    given = lab.given(route)
    if given.keep is None or route in lab.mixing:
        return None
    row = given.batch - 1
    real = given.keep[row]
    padded = lab.answer(given, route).out[row, 0]
    single = lab.answer(alone(given, row, real), replace(route, batch=1, mask=lab.plain.mask)).out[0, 0]
    apart = lab.close(padded, single, route)
    if apart is None or contents_matter(lab, route, given, row, real):
        return None
    pads = int((~real).sum())
    return Observation(
        *("padding-leak", "D4", route, f"with {pads} pads on the right, the answer differs by {apart:.3g}"),
        "the same answer as without pads",
        "pooling counts padding: what it sums is divided by all tokens, or padded places are pooled too",
        size=apart,
    )
