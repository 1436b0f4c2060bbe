"""One head of one sequence of a call, its stages computed again from query and key, each for the rows wanted.

This file says in numpy what `edgewise.attention.reference` says in torch, for a part of the matrix at a time.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from edgewise.records.arrays import Array, widened
from edgewise.records.call import Call

__all__ = ["Head", "Softmax", "head_of"]

Numbers = NDArray[np.floating[Any]]

SMALL = 1 << 18  # multiplications that OpenBLAS does on one thread
FEW = 32  # rows whose products are not worth a second thread


class Softmax(NamedTuple):
    """A softmax of rows, step by step; all but `grown` and `weights` are columns, a number a row."""

    largest: Numbers
    """The largest score, the sink's included, which is taken from all so that exp cannot overflow."""
    grown: Numbers
    """exp(score − largest)."""
    sink: Numbers | None
    """exp(sink − largest); None where there is no sink."""
    total: Numbers
    """The sum of `grown`, and the sink's."""
    weights: Numbers
    """grown / total; zeros where nothing but −∞ is in the row."""


@dataclass(frozen=True, eq=False)
class Head:
    """One head of one sequence: its keys and values as wide matrices, its queries as they were kept.

    Rows are given as ranges of neighbouring rows by their number in the call, keys as slices.
    """

    call: Call
    batch: int
    head: int
    wide: np.dtype[Any]
    queries: NDArray[Any]
    key: Float[np.ndarray, "key width"]

    @property
    def value(self) -> Float[np.ndarray, "key width"]:
        """The values, wide."""
        return self.call.value.wide(self.wide, self.batch, self.call.place(self.head)[1])

    @property
    def sink(self) -> Numbers | None:
        """The score that joins the sum of every row; None where there is none."""
        sinks = self.call.sinks
        return None if sinks is None else np.asarray(sinks.wide(self.wide)[self.call.place(self.head)[0]])

    def query(self, rows: range) -> Float[np.ndarray, "rows width"]:
        """Return some queries, wide."""
        return widened(self.queries[self.lines(rows)], self.call.query.dtype, self.wide)

    def raw(self, rows: range, keys: slice, room: Numbers | None = None) -> Float[np.ndarray, "rows keys"]:
        """Return query · key for every pair, the future included.

        Args:
            rows: the rows.
            keys: the keys.
            room: memory for it, (keys, rows), given by one of several threads; None to find some.
        """
        key, query = self.key[keys], self.query(rows)
        if room is None and len(query) <= FEW:
            room = np.empty((len(key), len(query)), self.wide)
        return query @ key.T if room is None else _stacked(key, np.ascontiguousarray(query.T), room).T

    def scaled(self, rows: range, keys: slice, room: Numbers | None = None) -> Float[np.ndarray, "rows keys"]:
        """Return raw × scale, then the soft cap, then the bias."""
        scores = self.raw(rows, keys, room)
        scores *= self.wide.type(self.call.scale)
        self.squeeze(scores)
        bias = self.bias(rows, keys)
        if bias is not None:
            scores += bias
        return scores

    def squeeze(self, scores: Numbers) -> None:
        """Apply the soft cap, where there is one, in place."""
        cap = self.call.soft_cap
        if cap is not None:
            scores /= cap
            np.tanh(scores, out=scores)
            scores *= cap

    def masked(self, rows: range, keys: slice) -> Float[np.ndarray, "rows keys"]:
        """Return scaled where there is an edge, −∞ where there is none."""
        return self.mask(self.scaled(rows, keys), rows, keys)

    def mask(self, scores: Numbers, rows: range, keys: slice) -> Float[np.ndarray, "rows keys"]:
        """Return scores where there is an edge, −∞ where there is none."""
        edges = self.edges(rows, keys)
        return scores if edges is None else np.where(edges, scores, self.wide.type(-np.inf))

    def weights(self, rows: range) -> Float[np.ndarray, "rows key"]:
        """Return the softmax of masked along all keys."""
        scores = self.scaled(rows, slice(None))
        return self.softmax(self.met(self.mask(scores, rows, slice(None)), scores)).weights

    def met(self, masked: Numbers, scores: Numbers) -> Float[np.ndarray, "rows key"]:
        """Return what enters the softmax: masked, and for a row without any key what the model has there."""
        hidden = self.call.hidden
        if hidden == -np.inf:
            return masked
        nobody = (masked == -np.inf).all(-1, keepdims=True)
        return np.where(nobody, scores + self.wide.type(hidden), masked) if nobody.any() else masked

    def softmax(self, masked: Float[np.ndarray, "rows key"]) -> "Softmax":
        """Return the softmax of whole rows, step by step."""
        nobody = (masked == -np.inf).all(-1, keepdims=True)
        largest = np.where(nobody, self.wide.type(0), masked.max(-1, keepdims=True, initial=-np.inf))
        largest = largest if self.sink is None else np.maximum(largest, self.sink)
        grown = np.exp(masked - largest)
        sink = None if self.sink is None else np.exp(self.sink - largest)
        total = grown.sum(-1, keepdims=True)
        total = total if sink is None else total + sink
        return Softmax(largest, grown, sink, total, np.where(nobody, self.wide.type(0), grown / total))

    def out(self, rows: range) -> Float[np.ndarray, "rows width"]:
        """Return weights · value."""
        return self.weights(rows) @ self.value

    def bias(self, rows: range, keys: slice) -> Numbers | None:
        """Return what is added to the scores, wide; None for nothing."""
        bias = self.call.bias
        return None if bias is None else widened(self.part(bias, rows, keys), bias.dtype, self.wide)

    def edges(self, rows: range, keys: slice) -> Bool[np.ndarray, "rows keys"] | None:
        """Return where there is an edge; None where there is one everywhere."""
        call, to = self.call, np.arange(*keys.indices(self.call.keys))
        if call.allowed is not None:
            return np.broadcast_to(self.part(call.allowed, rows, keys), (len(rows), to.size))
        if call.graph is None:
            return None
        at = np.arange(rows.start, rows.stop)[:, None] + (call.keys - call.rows)
        sequence = None if call.graph.batch is None else min(self.batch, call.graph.batch - 1)
        return np.broadcast_to(call.graph.allows(at, to[None, :], sequence), (at.size, to.size))

    def part(self, array: Array, rows: range, keys: slice) -> NDArray[Any]:
        """Return a rectangle of an array that broadcasts to the scores."""
        batch, heads, lines, columns = array.shape
        found = array.at(self.batch if batch > 1 else 0, self.call.place(self.head)[0] if heads > 1 else 0)
        return found[self.lines(rows) if lines > 1 else slice(None), keys if columns > 1 else slice(None)]

    def lines(self, rows: range) -> slice:
        """Return where rows lie in the arrays."""
        return self.call.kept.lines(rows, self.call.site.name)


def _stacked(
    key: Float[np.ndarray, "keys width"], turned: Float[np.ndarray, "width rows"], room: Numbers
) -> Float[np.ndarray, "keys rows"]:
    """Return key · query in products so small that the library for them starts no threads.

    Its threads and ours would wait for each other, at several times the cost, on a machine that is busy with other
    work at ten times.
    """
    size = max(8, SMALL // max(1, turned.size))
    whole = len(key) // size * size
    stack = (whole // size, size)
    np.matmul(key[:whole].reshape(*stack, key.shape[1]), turned, out=room[:whole].reshape(*stack, turned.shape[1]))
    np.matmul(key[whole:], turned, out=room[whole:])
    return room


def head_of(call: Call, batch: int, head: int, precision: str | None = None) -> Head:
    """Return one head of one sequence.

    Args:
        call: the call.
        batch: which sequence.
        head: which query head, by its number in the model.
        precision: "float32" or "float64" for all arithmetic; None for float32, or float64 where queries are.

    Raises:
        ArgumentError: there is no such sequence or head, or the head was not kept.
    """
    own = "float64" if call.query.dtype == "float64" else "float32"
    wide = np.dtype(precision or own)
    batch = call.number(batch, call.batch, "batch")
    place, group = call.place(head)
    return Head(
        call, batch, head % call.site.heads, wide, call.query.at(batch, place), call.key.wide(wide, batch, group)
    )
