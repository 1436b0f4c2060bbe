"""The masks of a route as attention was handed them, compared with what was meant, call by call and head by head."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.hypotheses import explained, handed_out
from edgewise.checks.lab.sites import Seen
from edgewise.checks.reading.meant import Meant, meant_at
from edgewise.checks.reading.words import told

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Mistake", "comparable", "edges_of_row", "given_each_other", "mistakes"]

_CALLS = 64
"""Calls of attention that are looked at, at most, on one route."""


@dataclass(frozen=True, eq=False)
class Mistake:
    """A call of attention with other edges than were meant."""

    seen: Seen
    row: int
    head: int | None
    meant: Meant
    got: Bool[np.ndarray, "query key"]
    kind: str
    """"" where no hypothesis fits."""
    likely: str

    @property
    def differs(self) -> Bool[np.ndarray, "query key"]:
        """Where the edges of rows that count differ."""
        return (self.got != self.meant.cells) & self.meant.judged[:, None]

    @property
    def extra(self) -> bool:
        """Whether something is read that was not meant to be."""
        return bool((self.differs & self.got).any())

    @property
    def words(self) -> tuple[str, str]:
        """Return what is read and what was meant."""
        judged = np.broadcast_to(self.meant.judged[:, None], self.got.shape)
        return told(self.got, self.meant.cells, judged)


def comparable(lab: "Lab", route: Route, given: Given, calls: Sequence[Seen]) -> bool:
    """Return whether what was meant is known of every call of attention, over all the keys that there should be."""
    return len(calls) <= _CALLS and all(meant_at(lab, route, given, 0, one) is not None for one in calls)


def mistakes(lab: "Lab", route: Route, given: Given, calls: Sequence[Seen]) -> Iterator[Mistake]:
    """Yield each call that reads something else than was meant; of a call the first row and head that do."""
    for one in calls[:_CALLS]:
        rows = [meant_at(lab, route, given, row, one) for row in range(given.batch)]
        if any(row is None for row in rows):
            continue
        meant = [row for row in rows if row is not None]
        edges = _by_row(one, given.batch)
        if edges is None:
            continue
        wrong = [
            (row, head)
            for head in range(edges.shape[1])
            for row, of_row in enumerate(meant)
            if ((edges[row, head] != of_row.cells) & of_row.judged[:, None]).any()
        ]
        if wrong:
            yield _mistake(one, meant, edges, wrong)


def _mistake(one: Seen, meant: list[Meant], edges: Any, wrong: list[tuple[int, int]]) -> Mistake:
    # A padded row says more than one that is whole.
    row, head = max(wrong, key=lambda place: (not meant[place[0]].judged.all(), -place[0], -place[1]))
    got = edges[row, head]
    every = edges.shape[1] == 1 or len({place[1] for place in wrong}) == edges.shape[1]
    shared = _shared(meant, edges, max(one.heads, edges.shape[1]))
    if shared is not None:
        return Mistake(one, row, None, meant[row], got, *shared)
    of_row = meant[row]
    found = None
    if of_row.graph is not None:
        # Rows of padding may show anything; where they fit too, they tell apart what real rows do not.
        found = explained(got, of_row.graph) or explained(got, of_row.graph, rows=of_row.judged)
    kind, likely = ("", "") if found is None else (found.kind, found.likely)
    if kind == "D1" and not got[~of_row.judged].any() and not of_row.judged.all():
        kind, likely = "D2", "the padding mask lies on the wrong axis: it hides padded queries instead of padded keys"
    return Mistake(one, row, None if every else head, of_row, got, kind, likely)


def given_each_other(lab: "Lab", route: Route, given: Given) -> tuple[str, str] | None:
    """Return how rows and heads are given each other's masks, seen on an input of which every row is padded."""
    if given.keep is None or route.mask not in ("left", "right"):
        return None
    keep = torch.ones_like(given.keep)
    for row in range(given.batch):
        many = 1 + 2 * row
        keep[row, slice(0, many) if route.mask == "left" else slice(given.length - many, given.length)] = False
    padded = given.replace(keep=keep)
    for one in lab.calls(route, padded):
        rows = [meant_at(lab, route, padded, row, one) for row in range(given.batch)]
        meant = [row for row in rows if row is not None]
        edges = _by_row(one, given.batch)
        if edges is None or len(meant) < len(rows):
            continue
        found = _shared(meant, edges, max(one.heads, edges.shape[1]))
        if found is not None:
            return found
    return None


def edges_of_row(one: Seen, batch: int, row: int, head: int | None) -> Bool[np.ndarray, "query key"] | None:
    """Return the edges of one row and head of a call, of the first head for None; None where there is no such row."""
    edges = _by_row(one, batch)
    return None if edges is None else edges[row, 0 if head is None else head]


def _by_row(one: Seen, batch: int) -> Any:
    """Return the edges of a call, (batch, heads or 1, query, key); None where its first axis is no batch."""
    edges: Any = one.allowed.cpu().numpy()
    if edges.shape[1] == 1 and edges.shape[0] % batch == 0 and edges.shape[0] > batch:
        # Heads that were folded into the batch, as bmm wants them.
        edges = edges.reshape(batch, -1, *edges.shape[2:])
    return np.broadcast_to(edges, (batch, *edges.shape[1:])) if edges.shape[0] in (1, batch) else None


def _shared(meant: list[Meant], edges: Any, heads: int) -> tuple[str, str] | None:
    """Return whether rows and heads were given each other's masks, and how."""
    masks = np.stack([one.cells for one in meant])
    # A row's own key is often kept whatever the mask says, so that no row is empty.
    own = np.eye(*masks.shape[1:], dtype=bool)
    judged = np.stack([one.judged for one in meant])[:, None, :, None] & ~own
    if len(meant) < 2 or bool((masks == masks[:1]).all()):
        return None
    got = np.broadcast_to(edges, (len(meant), heads, *edges.shape[2:])) if edges.shape[1] in (1, heads) else None
    if got is None:
        return None
    for one in handed_out(len(meant), heads):
        given = one.cells(masks)
        # The mask of a whole row hides nothing: that is no mask at all, as far as one can see.
        plain = bool((given == meant[0].expected.cells.cpu().numpy()).all())
        if not plain and bool(((given == got) | ~judged).all()):
            return one.kind, one.likely
    return None
