"""What a head does, in six numbers that a page can sort by: means over rows of one sequence."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from edgewise.records import Call, Record, tile

__all__ = ["ROWS", "Doing", "doing"]

ROWS = 128
"""Rows of a head that are looked at, where it has more: in stretches of 32, spread evenly."""
STRETCH = 32


class Doing(NamedTuple):
    """Means over the rows that were looked at, of rows with an edge; None where there is no such row."""

    head: int
    entropy: float | None
    """In nats."""
    distance: float | None
    """Positions between query and key, weighted."""
    first: float | None
    """Weight on the first key."""
    previous: float | None
    """Weight on the position before the query's."""
    self: float | None
    """Weight on the query's own position."""
    induction: float | None
    """Weight on the positions after earlier places of the query's token; None where no token came before."""


def doing(record: Record, call: Call, batch: int = 0) -> list[Doing]:
    """What each kept head of a call does in one sequence, head by head."""
    rows = _looked_at(call)
    tokens = record.tokens[batch] if record.tokens is not None and batch < len(record.tokens) else None
    known = tokens if tokens is not None and call.site.kind == "self" and call.keys <= len(tokens) else None
    induced = [] if known is None else [_after_the_same(known, call, part) for part in rows]
    return [_of_head(call, batch, head, rows, induced) for head in call.heads]


def _looked_at(call: Call) -> list[range]:
    """Stretches of neighbouring rows that were kept."""
    if call.kept.rows is not None:
        return [range(row, row + 1) for row in call.kept.rows[:ROWS]]
    if call.rows <= ROWS:
        return [range(start, min(start + STRETCH, call.rows)) for start in range(0, call.rows, STRETCH)]
    starts = np.linspace(0, call.rows - STRETCH, ROWS // STRETCH).astype(int)
    return [range(int(start), int(start) + STRETCH) for start in starts]


def _after_the_same(tokens: tuple[str, ...], call: Call, rows: range) -> NDArray[np.bool_]:
    """True at the keys that follow an earlier place of the query's token, (rows, keys)."""
    texts = np.asarray(tokens[: call.keys])
    offset = call.keys - call.rows
    mine = texts[np.arange(rows.start, rows.stop) + offset]
    same = mine[:, None] == texts[None, :]
    same &= np.arange(call.keys)[None] < np.arange(rows.start, rows.stop)[:, None] + offset
    return np.pad(same, ((0, 0), (1, 0)))[:, :-1]


def _of_head(call: Call, batch: int, head: int, rows: list[range], induced: list[NDArray[np.bool_]]) -> Doing:
    found: list[dict[str, NDArray[Any]]] = []
    for number, part in enumerate(rows):
        weights = tile(call, batch, head, slice(part.start, part.stop), precision="float32")
        found.append(_numbers(weights, call, part, induced[number] if induced else None))
    joined = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    seeing = joined.pop("total") > 0
    return Doing(head, **{name: _mean(numbers[seeing]) for name, numbers in joined.items()})


def _numbers(
    weights: Float[np.ndarray, "rows keys"], call: Call, rows: range, induced: NDArray[np.bool_] | None
) -> dict[str, NDArray[Any]]:
    at = np.arange(rows.start, rows.stop) + (call.keys - call.rows)
    keys = np.arange(call.keys)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(weights > 0, weights * np.log(weights), 0).sum(1)
    far = np.abs(at[:, None] - keys[None])
    own = call.site.kind == "self"
    nothing = np.full(len(rows), np.nan)
    return {
        "total": weights.sum(1),
        "entropy": entropy,
        "distance": (weights * far).sum(1) if own else nothing,
        "first": weights[:, 0],
        "previous": _at(weights, at - 1) if own else nothing,
        "self": _at(weights, at) if own else nothing,
        "induction": nothing if induced is None else np.where(induced.any(1), (weights * induced).sum(1), np.nan),
    }


def _at(weights: Float[np.ndarray, "rows keys"], keys: NDArray[Any]) -> NDArray[Any]:
    inside = (keys >= 0) & (keys < weights.shape[1])
    return np.where(inside, weights[np.arange(len(keys)), keys.clip(0, weights.shape[1] - 1)], np.nan)


def _mean(numbers: NDArray[Any]) -> float | None:
    known = numbers[np.isfinite(numbers)]
    return float(known.mean()) if known.size else None
