"""Numbers that sum up the weights of each query: as many as there are queries, instead of queries × keys."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from edgewise.errors import ShapeError

__all__ = ["NEAR", "Statistics"]

NEAR = 16
"""Keys are near that stand at most so many positions away, before or after."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """What each query does with all its keys, in a few numbers; every array is (batch, heads, query).

    Weights are those before dropout. A query without any key has −∞ as the logarithm of its sum, −1 as the place of its
    largest weight, and 0 for all else. With sinks the weights of a row sum to less than 1, and everything but the
    logarithm of the sum is about these weights alone. A query stands at its row + (keys − queries): aligned at the end.

    Args:
        log_sum_exp: logarithm of the softmax's sum, sinks included; weight = exp(score − log_sum_exp).
        entropy: −Σ weight · log(weight), in nats: 0 where all is on one key, log(n) where n keys share it evenly.
        largest: the largest weight.
        where: the key that has it, the first of several.
        first: weight on the first key; on the first that any query may read where the text is read at once, so that
            padding before the text does not count.
        own: weight on the query's own position.
        previous: weight on the position before it.
        near: weight on keys at most `NEAR` positions away, its own included.
        distance: mean distance of what is read, in positions, weighted by the weights.
    """

    log_sum_exp: Float[np.ndarray, "batch heads query"]
    entropy: Float[np.ndarray, "batch heads query"]
    largest: Float[np.ndarray, "batch heads query"]
    where: Int64[np.ndarray, "batch heads query"]
    first: Float[np.ndarray, "batch heads query"]
    own: Float[np.ndarray, "batch heads query"]
    previous: Float[np.ndarray, "batch heads query"]
    near: Float[np.ndarray, "batch heads query"]
    distance: Float[np.ndarray, "batch heads query"]

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if array.ndim != 3 or array.shape != self.shape:
                raise ShapeError(
                    f"statistics are arrays (batch, heads, query) of one shape; got {name} of {array.shape} "
                    f"beside log_sum_exp of {self.shape}"
                )

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def shape(self) -> tuple[int, ...]:
        """(batch, heads, query)."""
        return self.log_sum_exp.shape

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def part(self, heads: Any = slice(None), rows: Any = slice(None)) -> "Statistics":
        """Return the statistics of some heads and rows, each a slice or a list of numbers."""
        return Statistics(**{name: array[:, heads][:, :, rows] for name, array in self.arrays.items()})

    def followed_by(self, *others: "Statistics") -> "Statistics":
        """Return the rows of these statistics and then those of others, as of a text that was read in several calls.

        Raises:
            ShapeError: they are not of the same sequences and heads.
        """
        for other in others:
            if other.shape[:2] != self.shape[:2]:
                raise ShapeError(
                    f"rows follow each other within the same (batch, heads); got {self.shape[:2]} and {other.shape[:2]}"
                )
        return Statistics(
            **{
                name: np.concatenate([array, *(other.arrays[name] for other in others)], axis=2)
                for name, array in self.arrays.items()
            }
        )

    def __repr__(self) -> str:
        batch, heads, query = self.shape
        return f"Statistics(batch={batch}, heads={heads}, query={query})"
