"""What became of queries and keys between their projection and attention: multiplied with a number, turned, or neither.

A projection is found again by the lengths of its vectors: a rotation keeps them, a scale changes all by one factor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from edgewise.checks.numbers.products import Produced

__all__ = ["ROUGHLY", "Projection", "projection"]

ALIKE = 1e-4
"""Lengths that differ by less than this share are the same."""
ROUGHLY = 0.05
"""Or by this, where vectors were rounded to few steps on the way, as in a cache that is kept in eight bits."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Where the queries or keys of a call come from."""

    vectors: Tensor
    """(batch, heads, query, width), as the projection gave them."""
    factor: float
    """What they have been multiplied with since."""
    rounded: bool = False
    """Whether they were rounded meanwhile, so that the factor is not exact."""


def projection(vectors: Tensor, products: Sequence[Produced], *, roughly: bool = False) -> Projection | None:
    """Return the projection that queries or keys (batch, heads, query, width) come from; None where none fits.

    None also where their lengths were changed one by one, as a norm does; a little changed they may be, roughly.
    """
    split = [heads for one in reversed(products) if one.learned for heads in _split(one.out, vectors)]
    for alike in (ALIKE, ROUGHLY)[: 1 + roughly]:
        for heads in split:
            found = _matched(vectors.double(), heads.double(), alike)
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


def _matched(vectors: Tensor, pieces: Tensor, alike: float) -> Projection | None:
    lengths, others = vectors.norm(dim=-1), pieces.norm(dim=-1)
    if not bool((others > 0).all()) or lengths.shape[0] * lengths.shape[2] < 4:
        return None
    ratios = lengths[..., None] / others[:, None]
    ratios = ratios.transpose(0, 1).flatten(1, 2)  # (heads, batch · query, pieces)
    means = ratios.mean(1)
    fits = ((ratios - means[:, None]).abs().amax(1) <= alike * means) & (means > 0)
    if not bool(fits.any(1).all()):
        return None
    chosen = fits.double().argmax(1)
    factors = means.gather(1, chosen[:, None])[:, 0]
    if float((factors - factors[0]).abs().max()) > alike * float(factors[0]):
        return None
    return Projection(pieces[:, :, chosen].transpose(1, 2), float(factors[0]), rounded=alike > ALIKE)
