"""Who moves whom: which outputs depend on which tokens, by changing them and by gradient, rounding told apart.

Each token is changed to something like it, to something much larger, and among tokens that are all larger, because what
leaks through a weak mask shows only where scores are large. What does not depend is still to the last bit; what moves
by no more than rounding could is asked again of a copy in float64.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.lab.changes import louder_of
from edgewise.checks.lab.movement import Ask, Change, Movement, movement, one_by_one
from edgewise.graphs import Graph, recognise

__all__ = ["Influence", "Measuring", "decided"]

ROUNDINGS = 64
"""A movement of so many times the dtype's precision may be rounding."""

COARSE = 1e-4
"""A dtype of no more than this precision may not show a movement that there is."""


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
    placed: float = 0.0
    """How far the row is from itself at another place of the batch: more than noise where its place matters."""
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
    exactly: "Callable[[], Influence | None]" = lambda: None
    """What the same says in float64, asked only where rounding is in doubt."""

    @property
    def precision(self) -> float:
        """A movement of this part of the output may be rounding."""
        return torch.finfo(self.dtype).eps * ROUNDINGS

    def measure(self, changes: list[Change]) -> Movement:
        """How far changes move the outputs."""
        way = one_by_one if self.alone else movement
        return way(self.ask, self.given, self.part, self.row, changes)


@dataclass(frozen=True, eq=False)
class _Moved:
    """What one way of changing tokens moved."""

    over: Tensor
    """bool (…, query, token): more than rounding could."""
    size: Tensor
    """(…, query, token)"""
    others: float
    placed: float
    floor: float

    @property
    def cells(self) -> Tensor:
        """`over` of any head."""
        return self.over.flatten(0, -3).any(0) if self.over.dim() > 2 else self.over


def decided(measuring: Measuring, tries: list[list[Change]]) -> Influence:
    """What depends on what, from how far each change moves the outputs.

    Args:
        measuring: what to measure with.
        tries: ways of changing every token, the usual one first. Others are believed only where a gradient, or float64,
            says so too: numbers far from usual upset things that depend on nothing, as a maximum that all share.
    """
    usual, *large = (_moved(measuring, changes) for changes in tries)
    pulled = _pulled(measuring.pull)
    loud = torch.stack([one.over for one in large]).any(0) if large else torch.zeros_like(usual.over)
    believed = loud if pulled is None else loud & pulled
    if pulled is None and measuring.dtype != torch.float64 and large:
        exact = measuring.exactly()
        believed = loud if exact is None else loud & exact.moved
    over = usual.over | believed
    moved = over.flatten(0, -3).any(0) if over.dim() > 2 else over
    size = torch.stack([one.size for one in (usual, *large)]).flatten(0, -3).amax(0)
    doubtful = ((size > 0) if pulled is None else (size > 0) | pulled) & ~moved
    coarse = torch.finfo(measuring.dtype).eps
    still = ~moved if coarse > COARSE else doubtful
    exact = measuring.exactly() if bool(still.any()) else None
    if exact is not None:
        # What moves by less than the dtype can tell would not be seen to move.
        unseen = exact.size < 4 * coarse * usual.floor / measuring.precision
        moved = moved | (exact.moved & (doubtful | unseen if coarse > COARSE else doubtful))
    if pulled is not None and measuring.pull is not None:
        moved = moved | _by_louder(measuring, pulled & ~moved)
        moved = moved | _as_weak(moved, measuring.pull)
        pulled = pulled | (moved & (measuring.pull > 0))
    return Influence(
        moved,
        size,
        usual.others if usual.others <= usual.floor else 0.0,
        pulled,
        measuring.pull,
        _disagreeing(moved, pulled),
        mixed=usual.others,
        placed=usual.placed if usual.placed > usual.floor else 0.0,
        heads=over if over.dim() > 2 else None,
    )


def _moved(measuring: Measuring, changes: list[Change]) -> _Moved:
    measured = measuring.measure(changes)
    floor = measuring.precision * measured.largest.double().clamp_min(torch.finfo(measuring.dtype).tiny)
    if not measuring.alone and measured.others <= float(floor.max()):
        floor = floor.clamp_min(4 * measured.others)
    sizes = measured.size.double()
    over = sizes > floor.reshape(-1, *(1,) * (sizes.dim() - 1))
    tokens = torch.tensor([change.token for change in changes])
    # A number that is no number any more says nothing of ordinary ones.
    if any(change.scale != 1 or change.large for change in changes):
        lost = sizes.flatten(1).isinf().any(-1)
        over[lost], sizes[lost] = False, 0
    return _Moved(
        _by_token(over, tokens), _by_token(sizes, tokens), measured.others, measured.placed, float(floor.max())
    )


def _by_louder(measuring: Measuring, doubtful: Tensor) -> Tensor:
    """Doubtful cells that move after all where scores are large."""
    cells = torch.zeros_like(doubtful)
    values = getattr(measuring.given, measuring.part)
    if not bool(doubtful.any()) or not values.is_floating_point() or measuring.dtype == torch.float16:
        return cells
    tokens = doubtful.any(0).nonzero().flatten().tolist()
    found = _moved(measuring, louder_of(measuring.given, measuring.part, measuring.row, tokens)).cells
    cells[:, : found.shape[1]] = found
    return cells & doubtful


def _by_token(values: Tensor, tokens: Tensor) -> Tensor:
    """The largest of each token's changes: (changes, …, query) to (…, query, token), up to the last token changed."""
    empty = torch.zeros_like(values[0])
    found = [values[tokens == token] for token in range(int(tokens.max()) + 1)]
    return torch.stack([one.amax(0) if len(one) else empty for one in found], -1)


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
