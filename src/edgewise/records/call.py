"""One call of attention as it happened: what went in, which edges existed, what came out."""

from dataclasses import dataclass
from math import inf, nan

from edgewise.errors import ArgumentError
from edgewise.graphs import Graph
from edgewise.records.arrays import Array
from edgewise.records.checked import check
from edgewise.records.kept import Kept
from edgewise.records.site import Site

__all__ = ["Call"]


@dataclass(frozen=True, eq=False)
class Call:
    """One call of attention. Weights are not in it: every stage can be computed again from query and key.

    Axes are (batch, heads, query, width) for `query` and `out` and (batch, groups, key, width) for `key` and `value`,
    in which width may differ between key and value. Where `kept` names heads or rows, the arrays hold only those.

    Args:
        site: where in the model.
        index: which call of that site, from 0: writing one token at a time calls it once a token.
        route: how it was caught, such as "transformers: sdpa".
        query: queries as attention saw them, after rotary positions.
        key: keys as attention saw them, those of a cache included.
        value: what each key hands over.
        out: what each query took home, before heads are mixed.
        scale: what the raw scores are multiplied with.
        graph: which edges exist, aligned at the end; None where all do, or where `allowed` says it.
        allowed: the edges as booleans, True = may attend, where no graph says them; (batch or 1, heads or 1, query or
            1, key).
        bias: what is added to the scaled scores; (batch or 1, heads or 1, query or 1, key or 1).
        soft_cap: scores were squeezed into ±soft_cap before the bias; None for not.
        sinks: (heads,), a score a head that joins the softmax's sum and carries nothing.
        dropout: share of weights dropped in this call; stages computed again have none dropped.
        cached: keys that were there before this call.
        dtype: the dtype of attention in the model; the arrays may be kept in another.
        residual: largest difference between `out` and out computed again; NaN where nobody looked.
        note: what is to be said of the residual: how many rows were looked at, or why none.
        hidden: what the model adds to a score where there is no edge: −∞, or the −10⁴ or lowest number of the dtype
            that some use. It matters to a query without any key alone: that takes home zeros under −∞, and under a
            finite number reads all keys by their scores plus that number; NaN where it takes home NaN.
        first: position in the text at which the first query stands; None for `cached`, which is right where the cache
            has dropped no keys.
        kept: which heads and rows the arrays hold.

    Raises:
        ShapeError: two arrays do not fit together.
        ArgumentError: a number or a dtype is not one that attention can use.
    """

    site: Site
    index: int
    route: str
    query: Array
    key: Array
    value: Array
    out: Array
    scale: float
    graph: Graph | None = None
    allowed: Array | None = None
    bias: Array | None = None
    soft_cap: float | None = None
    sinks: Array | None = None
    dropout: float = 0.0
    cached: int = 0
    dtype: str = "float32"
    residual: float = nan
    note: str = ""
    hidden: float = -inf
    first: int | None = None
    kept: Kept = Kept()  # noqa: RUF009 — frozen

    def __post_init__(self) -> None:
        check(self)

    @property
    def batch(self) -> int:
        """Sequences computed side by side."""
        return self.query.shape[0]

    @property
    def rows(self) -> int:
        """Queries of the call, those included that were not kept."""
        return self.query.shape[2] if self.kept.rows is None else self.kept.of_rows

    @property
    def keys(self) -> int:
        """Keys of the call, those of a cache included."""
        return self.key.shape[2]

    @property
    def position(self) -> int:
        """Where in the text the first query stands."""
        return self.cached if self.first is None else self.first

    @property
    def heads(self) -> tuple[int, ...]:
        """The query heads that the arrays hold, by their number in the model."""
        return tuple(range(self.site.heads)) if self.kept.heads is None else self.kept.heads

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays by name, those that are there."""
        named = {name: getattr(self, name) for name in ("query", "key", "value", "out", "allowed", "bias", "sinks")}
        return {name: array for name, array in named.items() if array is not None}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def place(self, head: int) -> tuple[int, int]:
        """Return where a head lies in the arrays of queries, and its key-value head in those of keys.

        Raises:
            ArgumentError: the model has no such head there, or it was not kept.
        """
        return self.kept.place(self.site, head)

    def number(self, given: int, size: int, name: str) -> int:
        """Return a batch, query or key by its number, counted from the end where it is negative.

        Raises:
            ArgumentError: there are not so many.
        """
        if not -size <= given < size:
            raise ArgumentError(f"{name} must be from 0 to {size - 1} at {self.site.name}; got {given}")
        return given % size
