"""Who moves whom: which outputs depend on which tokens, by changing them and by gradient, rounding told apart.

Each token is changed to something like it, to something much larger, and among tokens that are all larger, because what
leaks through a weak mask shows only where scores are large. What does not depend is still to the last bit; what moves
by no more than rounding could is asked again of a copy in float64.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from edgewise.checks.changes import louder_of
from edgewise.checks.given import Given
from edgewise.checks.movement import Ask, Change, Movement, movement, one_by_one
from edgewise.graphs import Graph, recognise

__all__ = ["Influence", "Measuring", "decided"]

ROUNDINGS = 64
"""A movement of so many times the dtype's precision may be rounding."""


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
    pull: Tensor | None = None
    """(query, token): the largest gradient, in float64 where that can be had."""
    disagree: tuple[tuple[int, int], ...] = ()
    """(query, token) where change and gradient say different things: integers or a detached tensor on the way, or a
    weight too small to move anything at any size of input that was tried."""
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

    @property
    def precision(self) -> float:
        """A movement of this part of the output may be rounding."""
        return torch.finfo(self.dtype).eps * ROUNDINGS

    def measure(self, changes: list[Change]) -> Movement:
        """How far changes move the outputs."""
        way = one_by_one if self.alone else movement
        return way(self.ask, self.given, self.part, self.row, changes)


def decided(measuring: Measuring, changes: list[Change]) -> Influence:
    """What depends on what, from how far each change moves the outputs."""
    measured = measuring.measure(changes)
    tokens = torch.tensor([change.token for change in changes])
    count = int(tokens.max()) + 1
    floor = measuring.precision * measured.largest.double().clamp_min(torch.finfo(measuring.dtype).tiny)
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
    loud = _by_louder(measuring, doubtful & ~moved)
    if loud is not None:
        heads = heads if heads is None else heads | loud
        moved = moved | (loud.any(0) if loud.dim() == 3 else loud)
    if pulled is not None and measuring.pull is not None:
        moved = moved | _as_weak(moved, measuring.pull)
        pulled = pulled | (moved & (measuring.pull > 0))
    return Influence(
        moved,
        size,
        measured.others if measured.others <= float(floor.max()) else 0.0,
        pulled,
        measuring.pull,
        _disagreeing(moved, pulled),
        mixed=measured.others,
        heads=heads,
    )


def _by_louder(measuring: Measuring, doubtful: Tensor) -> Tensor | None:
    """Doubtful cells that move after all where scores are large; None where none is, or inputs have no size."""
    values = getattr(measuring.given, measuring.part)
    if not bool(doubtful.any()) or not values.is_floating_point() or measuring.dtype == torch.float16:
        return None
    tokens = doubtful.any(0).nonzero().flatten().tolist()
    found = measuring.measure(louder_of(measuring.given, measuring.part, measuring.row, tokens))
    over = found.size.double() > (measuring.precision * found.largest.double()).reshape(
        -1, *(1,) * (found.size.dim() - 1)
    )
    over &= found.size.isfinite()
    cells = torch.zeros(*over.shape[1:], doubtful.shape[1], dtype=torch.bool)
    for place, token in enumerate(tokens):
        cells[..., token] = over[place :: len(tokens)].any(0)
    return cells & doubtful


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
    low, high = _rounding(pull)
    return (pull > 0) & ((pull < low) | (pull > high))


def _as_weak(moved: Tensor, pull: Tensor) -> Tensor:
    """Cells with a tiny gradient like one that moved: the same number hides both, and gave way in one of them."""
    tiny = (pull > 0) & (pull <= _rounding(pull)[1])
    return tiny if bool((tiny & moved).any()) else torch.zeros_like(moved)


def _rounding(pull: Tensor) -> tuple[float, float]:
    """From where to where a gradient may be what rounding leaves of one that cancels out."""
    largest = float(pull.max()) * torch.finfo(torch.float64).eps
    return 1e-4 * largest, ROUNDINGS * largest


def _disagreeing(moved: Tensor, pulled: Tensor | None) -> tuple[tuple[int, int], ...]:
    if pulled is None or pulled.shape != moved.shape:
        return ()
    return tuple((int(query), int(token)) for query, token in (moved != pulled).nonzero().tolist())
