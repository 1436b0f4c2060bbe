"""Who moves whom: which outputs depend on which tokens, by changing them and by gradient, rounding told apart.

Each token is changed to something like it, to something much larger, and among tokens that are all larger, because what
leaks through a weak mask shows only where scores are large. What does not depend is still to the last bit; what moves
by no more than rounding could is asked again of a copy in float64.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from edgewise.checks.given import Given
from edgewise.checks.movement import Ask, Change, Movement, movement, one_by_one
from edgewise.graphs import Graph, recognise

__all__ = ["Influence", "Measuring", "changes_of", "decided"]

ROUNDINGS = 64
"""A movement of so many times the dtype's precision may be rounding."""

LARGE, LOUD = {torch.float16: 30.0}, {torch.float16: 6.0}
"""How large a changed token is, and how much all tokens are, where the dtype cannot hold 1000 and 30."""


@dataclass(frozen=True, eq=False)
class Influence:
    """Which outputs of a row depend on which of its tokens."""

    moved: Tensor
    """bool (query, token): the output at the query depends on the token."""
    size: Tensor
    """(query, token): how far it moved, at most."""
    noise: float
    """How far it may move where nothing depends: 0 where everything else was still to the last bit."""
    gradient: Tensor | None = None
    """bool (query, token): by gradient; None where there is none, or it is not a number."""
    disagree: tuple[tuple[int, int], ...] = ()
    """(query, token) where change and gradient say different things."""
    mixed: float = 0.0
    """How far other rows of the batch moved: more than noise where rows read each other."""
    heads: Tensor | None = None
    """Of a function, bool (heads, query, key)."""
    keys: Tensor | None = None
    """Of a function, bool (query, key): as `moved`, which is by values, by the keys."""
    queries: Tensor | None = None
    """Of a function, bool (query, query): the output at a query depends on another query."""

    @property
    def named(self) -> Graph | None:
        """The graph with these edges, where it has a name."""
        return recognise(self.moved.numpy())


@dataclass(frozen=True, eq=False)
class Measuring:
    """What to measure with."""

    ask: Ask
    given: Given
    part: str
    row: int
    alone: bool
    """Whether each change needs a call of its own."""
    dtype: torch.dtype
    pull: Tensor | None = None
    """Gradients (query, token)."""
    exactly: Callable[[], Tensor | None] = lambda: None
    """What the same says in float64, asked only where rounding is in doubt."""


def decided(measuring: Measuring, changes: list[Change]) -> Influence:
    """What depends on what, from how far each change moves the outputs."""
    measured = (one_by_one if measuring.alone else movement)(
        measuring.ask, measuring.given, measuring.part, measuring.row, changes
    )
    precision = torch.finfo(measuring.dtype).eps * ROUNDINGS
    tokens = torch.tensor([change.token for change in changes])
    count = int(tokens.max()) + 1
    floor = precision * measured.largest.double().clamp_min(torch.finfo(measuring.dtype).tiny)
    if not measuring.alone and measured.others <= float(floor.max()):
        floor = floor.clamp_min(4 * measured.others)
    sizes = _without_overflow(measured, changes)
    shape = (-1, *(1,) * (sizes.dim() - 1))
    over = _by_token(sizes > floor.reshape(shape), tokens, count)
    any_size = _by_token(sizes, tokens, count)
    heads = over if over.dim() == 3 else None
    moved, size = (one.amax(0) if one.dim() == 3 else one for one in (over, any_size))
    pulled = _pulled(measuring.pull)
    doubtful = (size > 0) & ~moved
    if pulled is not None:
        doubtful |= pulled & ~moved
    exact = measuring.exactly() if bool(doubtful.any()) else None
    if exact is not None:
        moved = moved | (doubtful & exact)
    elif pulled is not None:
        moved = moved | (doubtful & pulled & (size > 0))
    return Influence(
        moved,
        size,
        measured.others if measured.others <= float(floor.max()) else 0.0,
        pulled,
        _disagreeing(moved, pulled),
        mixed=measured.others,
        heads=heads,
    )


def changes_of(
    given: Given, field: str, row: int, *, vocabulary: int | None, low: int, seed: int, pad: int | None = None
) -> list[Change]:
    """The changes to try at each token.

    Args:
        given: the input.
        field: which part of it.
        row: which row of the batch.
        vocabulary: ids are below it, where tokens are ids.
        low: ids are not below it: those have a meaning of their own.
        seed: of the random numbers.
        pad: the id of padding, which none is changed to.
    """
    values = getattr(given, field)[row]
    chance = torch.Generator().manual_seed(seed)
    if not values.is_floating_point():
        most = int(vocabulary or int(values.max()) + 2)
        low = min(low, most // 2)
        other = torch.randint(1, max(2, most - low), (2, values.shape[0]), generator=chance).to(values)
        shifted = low + (values.clamp_min(low) - low + other) % (most - low)
        if pad is not None:
            spare = next((one for one in range(low, most) if one != pad), pad)
            shifted = torch.where(shifted == pad, spare, shifted)
        return [Change(token, shifted[time, token]) for time in range(2) for token in range(values.shape[0])]
    axis = 1 if values.dim() == 3 and given.key is not None else 0
    plain = torch.randn(values.shape, generator=chance, dtype=torch.float64).to(values) + 0.1
    spread = float(values.float().std()) or 1.0
    large, loud = LARGE.get(values.dtype, 1000.0) * spread, LOUD.get(values.dtype, 30.0)
    tokens = range(values.shape[axis])
    return [
        *(Change(token, (plain * spread).select(axis, token)) for token in tokens),
        *(Change(token, (plain * large).select(axis, token)) for token in tokens),
        *(Change(token, (plain * spread * loud).select(axis, token), loud) for token in tokens),
    ]


def _without_overflow(measured: Movement, changes: list[Change]) -> Tensor:
    """The movements, without those of large numbers that were too large: they say nothing of ordinary ones."""
    usual = max(1, len({change.token for change in changes}))
    sizes = measured.size.double()
    lost = sizes.flatten(1).isinf().any(-1)
    lost[:usual] = False
    return sizes.masked_fill(lost.reshape(-1, *(1,) * (sizes.dim() - 1)), 0)


def _by_token(values: Tensor, tokens: Tensor, count: int) -> Tensor:
    """The largest of each token's changes: (changes, …, query) to (…, query, token)."""
    return torch.stack([values[tokens == token].amax(0) for token in range(count)], -1)


def _pulled(pull: Tensor | None) -> Tensor | None:
    """Where there is a gradient that is not what rounding leaves of one that cancels out."""
    if pull is None or not bool(pull.isfinite().all()):
        return None
    largest = float(pull.max())
    low, high = 1e-4 * torch.finfo(torch.float64).eps * largest, ROUNDINGS * torch.finfo(torch.float64).eps * largest
    return (pull > 0) & ((pull < low) | (pull > high))


def _disagreeing(moved: Tensor, pulled: Tensor | None) -> tuple[tuple[int, int], ...]:
    if pulled is None or pulled.shape != moved.shape:
        return ()
    return tuple((int(query), int(token)) for query, token in (moved != pulled).nonzero().tolist())
