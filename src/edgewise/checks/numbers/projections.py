"""What became of queries and keys between their projection and attention: multiplied with a number, turned, or neither.

A projection is found again by the lengths of its vectors: a rotation keeps them, a scale changes all by one factor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from edgewise.checks.numbers.products import Produced

__all__ = ["Projection", "projection"]

ALIKE = 1e-4
"""Lengths that differ by less than this share are the same."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Where the queries or keys of a call come from."""

    vectors: Tensor
    """(batch, heads, query, width), as the projection gave them."""
    factor: float
    """What they have been multiplied with since."""


def projection(vectors: Tensor, products: Sequence[Produced]) -> Projection | None:
    """Return the projection that queries or keys (batch, heads, query, width) come from; None where none fits.

    None also where their lengths were changed one by one, as a norm does.
    """
    for one in reversed(products):
        if not one.learned:
            continue
        for heads in _split(one.out, vectors):
            found = _matched(vectors.double(), heads.double())
            if found is not None:
                return found
    return None


def _split(out: Tensor, vectors: Tensor) -> Iterator[Tensor]:
    """What a projection gave, as (batch, length, pieces, width), whichever of its two axes came first."""
    batch, _, length, width = vectors.shape
    if out.shape[-1] % width or out.numel() // out.shape[-1] != batch * length:
        return
    pieces = out.reshape(batch * length, -1, width)
    yield pieces.unflatten(0, (batch, length))
    if batch > 1 and length > 1:
        yield pieces.unflatten(0, (length, batch)).transpose(0, 1)


def _matched(vectors: Tensor, pieces: Tensor) -> Projection | None:
    lengths, others = vectors.norm(dim=-1), pieces.norm(dim=-1)
    if not bool((others > 0).all()) or lengths.shape[0] * lengths.shape[2] < 4:
        return None
    ratios = lengths[..., None] / others[:, None]
    ratios = ratios.transpose(0, 1).flatten(1, 2)  # (heads, batch · query, pieces)
    means = ratios.mean(1)
    fits = ((ratios - means[:, None]).abs().amax(1) <= ALIKE * means) & (means > 0)
    if not bool(fits.any(1).all()):
        return None
    chosen = fits.double().argmax(1)
    factors = means.gather(1, chosen[:, None])[:, 0]
    if float((factors - factors[0]).abs().max()) > ALIKE * float(factors[0]):
        return None
    return Projection(pieces[:, :, chosen].transpose(1, 2), float(factors[0]))
