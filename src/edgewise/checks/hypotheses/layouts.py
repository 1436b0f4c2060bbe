"""What is read where axes are confused: rows of a batch taken for time, heads and tokens that change places.

Here a cell is (row of the batch, token) against (row of the batch, token), so that what is read in other rows shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

__all__ = ["Layout", "headed", "layouts"]


@dataclass(frozen=True, eq=False)
class Layout:
    """One way to confuse axes."""

    kind: str
    likely: str
    cells: Bool[np.ndarray, "batch query batch key"]


def layouts(own: Bool[np.ndarray, "query key"], batch: int) -> Iterator[Layout]:
    """Yield what rows read of each other where they should read nothing.

    Args:
        own: what a token is meant to read in its own row.
        batch: the number of rows.
    """
    tokens, rows = len(own), np.arange(batch)
    two_way = bool(own.all())
    time = np.ones((batch, batch), dtype=bool) if two_way else rows[None, :] <= rows[:, None]
    same_token = np.eye(tokens, dtype=bool)
    for over_rows in [time, np.ones((batch, batch), dtype=bool)][: 1 + (not two_way)]:
        yield Layout(
            "E1",
            "batch_first: the axis of the batch is taken for time, so a token reads the same token of other rows and "
            "no other of its own; batch_first=True or a transpose is missing",
            over_rows[:, None, :, None] & same_token[None, :, None, :],
        )
    yield from _viewed(own, batch)
    other = {
        "each row reads the row before it": np.roll(np.eye(batch, dtype=bool), -1, axis=1),
        "each row reads the row after it": np.roll(np.eye(batch, dtype=bool), 1, axis=1),
        "rows are read in reverse": np.eye(batch, dtype=bool)[::-1],
    }
    for words, rows_read in other.items():
        yield Layout("E4", f"{words}: rows are reordered, but not everywhere", _joined(rows_read, own))
    for row in range(batch):
        read = np.zeros((batch, batch), dtype=bool)
        read[:, row] = True
        yield Layout("E4", f"keys and values of row {row} are used for all rows", _joined(read, own))
    everyone = np.ones((batch, batch), dtype=bool)
    yield Layout("E1", "rows of the batch read each other as one long text", _joined(everyone, own))
    flat = np.arange(batch * tokens)
    yield Layout(
        "E1",
        "rows of the batch are joined to one long causal text",
        (flat[None] <= flat[:, None]).reshape(batch, tokens, batch, tokens),
    )


def _viewed(own: Bool[np.ndarray, "query key"], batch: int) -> Iterator[Layout]:
    """Yield what is read where (batch, tokens) is viewed as (tokens, batch) without a transpose."""
    tokens = len(own)
    flat = np.arange(batch * tokens)
    time, column = np.divmod(flat, batch)  # (tokens, batch) laid over the same memory
    read = (column[:, None] == column[None]) & own[time[:, None], time[None]]
    yield Layout(
        "E1",
        "view instead of transpose: (batch, tokens) is viewed as (tokens, batch), so rows are cut and mixed",
        read.reshape(batch, tokens, batch, tokens),
    )
    if batch <= tokens:
        group, place = np.divmod(flat, batch)
        near = (group[:, None] == group[None]) & own[place[:, None], place[None]]
        yield Layout(
            "E1",
            "view instead of transpose: (batch, tokens) is viewed as (tokens, batch), "
            "and what is next to each other is taken for one text",
            near.reshape(batch, tokens, batch, tokens),
        )
    # Transposed on the way in and viewed on the way out, or the other way round: the row that is computed is another
    # one than the row it is handed back as.
    right = (np.arange(batch)[None, :, None, None] == np.arange(batch)[None, None, :, None]) & own[:, None, None, :]
    for which in ("out", "in"):
        # `right` is (time, row) by (row, time); laying (time, row) over (row, time) is the view.
        if which == "out":
            cells = right.reshape(batch, tokens, batch, tokens)
        else:
            turned = right.transpose(1, 0, 3, 2).reshape(batch, tokens, batch, tokens)
            cells = turned
        yield Layout("E1", f"view instead of transpose on the way {which}: rows come back cut and mixed", cells)


def _joined(rows: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the cells where rows read rows, each token what it may."""
    return rows[:, None, :, None] & own[None, :, None, :]


def headed(own: Bool[np.ndarray, "query key"], heads: int) -> Iterator[Layout]:
    """Yield what a row reads in itself where tokens and heads change places: (1, query, 1, key)."""
    tokens = len(own)
    if heads < 2:
        return
    chunk = np.arange(tokens * heads)
    head, time = np.divmod(chunk, tokens)  # where (token, head) lands in (heads, tokens) laid over the same memory
    owner = chunk // heads  # the token that it belongs to
    into = np.zeros((heads, tokens, tokens), dtype=bool)  # (head, time) is made of token
    into[head, time, owner] = True
    plain = np.broadcast_to(np.eye(tokens, dtype=bool), into.shape)
    # (token, head, time): which attention outputs a token's output is merged from.
    out = np.zeros((tokens, heads, tokens), dtype=bool)
    out[owner, head, time] = True
    straight = np.broadcast_to(np.eye(tokens, dtype=bool)[:, None, :], out.shape)
    ways = (
        ("J2", "heads are merged by view without the transpose that split them", plain, out),
        ("J1", "heads are split by view without a transpose", into, straight),
        ("J1", "heads are split and merged by view, without a transpose either time", into, out),
    )
    for kind, likely, first, last in ways:
        inside = own[None] | np.eye(tokens, dtype=bool)[None]
        read = np.einsum("qht,htk->qk", last.astype(int), (inside.astype(int) @ first.astype(int))) > 0
        yield Layout(kind, likely, read[None, :, None, :])
