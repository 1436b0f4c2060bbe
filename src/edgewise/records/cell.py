"""The arithmetic of one cell, to the last digit: from the products of two vectors to what a value adds to the output.

All in float64, in which a product of two float32 numbers is exact, and in this order, so that every line follows from
those above it and nothing has to be believed.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from edgewise.records.call import Call
from edgewise.records.head import Head, head_of

__all__ = ["Cell", "cell"]


@dataclass(frozen=True, eq=False)
class Cell:
    """One query, one key, and all that happens between them.

    Args:
        batch: which sequence.
        head: which query head.
        row: which query.
        column: which key.
        query: the query.
        key: the key.
        terms: query × key, number by number.
        raw: their sum.
        scale: what it is multiplied with.
        scaled: raw × scale.
        soft_cap: the soft cap; None for none.
        capped: soft_cap · tanh(scaled / soft_cap); `scaled` without a soft cap.
        bias: what is added; None for nothing.
        score: capped + bias.
        allowed: whether there is an edge.
        largest: the largest score of the row, over its edges and the sink; 0 where nothing is in the row.
        hidden: what the model adds to every score of a row that sees nothing; None for all other rows, and where it has
            −∞ there.
        exp: exp(score − largest), `hidden` added to the score; 0 where there is no edge and nothing is added.
        sink: exp(sink − largest); None where there is no sink.
        total: the sum of `exp` over the row, and the sink's.
        weight: exp / total; 0 where nothing is in the row.
        value: what the key hands over.
        share: weight × value, its part of the output.
        out: the output of the row, the sum of the shares of all keys.
    """

    batch: int
    head: int
    row: int
    column: int
    query: Float64[np.ndarray, " width"]
    key: Float64[np.ndarray, " width"]
    terms: Float64[np.ndarray, " width"]
    raw: float
    scale: float
    scaled: float
    soft_cap: float | None
    capped: float
    bias: float | None
    score: float
    allowed: bool
    largest: float
    hidden: float | None
    exp: float
    sink: float | None
    total: float
    weight: float
    value: Float64[np.ndarray, " channels"]
    share: Float64[np.ndarray, " channels"]
    out: Float64[np.ndarray, " channels"]

    def __str__(self) -> str:
        products = [f"{q:.4g}·{k:.4g}" for q, k in zip(self.query, self.key, strict=True)]
        if len(products) > 4:
            products = [*products[:2], f"… {len(products) - 3} more …", products[-1]]
        lines = [
            f"query {self.row} reads key {self.column} (head {self.head}, sequence {self.batch})",
            f"raw      {' + '.join(products)} = {self.raw:.6g}",
            f"scaled   {self.raw:.6g} × {self.scale:.6g} = {self.scaled:.6g}",
        ]
        if self.soft_cap is not None:
            capped = f"{self.soft_cap:.6g} · tanh({self.scaled:.6g} / {self.soft_cap:.6g}) = {self.capped:.6g}"
            lines.append(f"capped   {capped}")
        if self.bias is not None:
            lines.append(f"biased   {self.capped:.6g} + {self.bias:.6g} = {self.score:.6g}")
        if self.allowed:
            lines.append(
                f"exp      exp({self.score:.6g} − {self.largest:.6g}) = {self.exp:.6g}, the row's largest taken away"
            )
        elif self.hidden is None:
            lines.append("masked   no edge: −∞, and exp(−∞) = 0")
        else:
            added = f"exp({self.score:.6g} + {self.hidden:.6g} − {self.largest:.6g}) = {self.exp:.6g}"
            lines.append(f"masked   the row has no edge, so the model adds {self.hidden:.6g} to all: {added}")
        sink = "" if self.sink is None else f", {self.sink:.6g} of it the sink's"
        lines.append(f"weight   {self.exp:.6g} / {self.total:.6g} = {self.weight:.6g}{sink}")
        lines.append(f"share    {self.weight:.6g} × value = {_vector(self.share)} of out {_vector(self.out)}")
        return "\n".join(lines)


def cell(call: Call, batch: int, head: int, query: int, key: int) -> Cell:
    """One cell with its whole arithmetic, in float64.

    Args:
        call: the call.
        batch: which sequence; negative counts from the end.
        head: which query head, by its number in the model; negative counts from the end.
        query: which row; negative counts from the end.
        key: which column; negative counts from the end.

    Raises:
        ArgumentError: there is no such sequence, head, row or column, or it was not kept.
    """
    row = call.number(query, call.rows, "query")
    column = call.number(key, call.keys, "key")
    one = head_of(call, batch, head, "float64")
    with np.errstate(all="ignore"):
        return _cell(one, row, column)


def _cell(one: Head, row: int, column: int) -> Cell:
    call, rows, everything = one.call, range(row, row + 1), slice(None)
    query = one.query(rows)[0]
    # Term by term for the whole row, not by a matrix product, whose order of summing would differ in the last digit.
    raw = (query * one.key).sum(-1)[None]
    scaled = raw * call.scale
    capped = scaled.copy()
    one.squeeze(capped)
    bias = one.bias(rows, everything)
    score = capped if bias is None else capped + bias
    masked = one.mask(score, rows, everything)
    met = one.met(masked, score)
    steps = one.softmax(met)
    edges = one.edges(rows, everything)
    value, at = one.value, (0, column)
    return Cell(
        batch=one.batch,
        head=one.head,
        row=row,
        column=column,
        query=query,
        key=one.key[column],
        terms=query * one.key[column],
        raw=float(raw[at]),
        scale=call.scale,
        scaled=float(scaled[at]),
        soft_cap=call.soft_cap,
        capped=float(capped[at]),
        bias=None if bias is None else float(np.broadcast_to(bias, score.shape)[at]),
        score=float(score[at]),
        allowed=edges is None or bool(edges[at]),
        largest=float(steps.largest.item()),
        hidden=None if met is masked else call.hidden,
        exp=float(steps.grown[at]),
        sink=None if steps.sink is None else float(steps.sink.item()),
        total=float(steps.total.item()),
        weight=float(steps.weights[at]),
        value=value[column],
        share=steps.weights[at] * value[column],
        out=(steps.weights[0][:, None] * value).sum(0),
    )


def _vector(numbers: Float64[np.ndarray, " channels"]) -> str:
    shown = [f"{number:.4g}" for number in numbers]
    return f"({', '.join(shown if len(shown) <= 4 else [*shown[:3], '…'])})"
