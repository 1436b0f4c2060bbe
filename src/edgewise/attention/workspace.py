"""Where the blocks route computes: strips of tiles, the views that they read and add to, and buffers used again.

Tensors come flattened: query (n, rows · each, width), key and value (n, keys, …), where n counts sequences times
key-value heads and `each` query heads share one of those. bias is (sequences, groups, query, each, key) with axes of
length 1 where it is the same; sinks are (groups, 1, each). Products write into buffers that are used again: fresh
memory for each tile costs more than the arithmetic.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from edgewise.attention.tiles import Masks, Tile, Tiling

__all__ = ["Inputs", "Problem", "Strip", "Workspace"]

# Bytes of scores held at once by a thread: with keys and values they stay in a core's second-level cache.
_CACHE = 1 << 20


class Problem(NamedTuple):
    """All of a call but its tensors."""

    tiling: Tiling
    each: int
    """Query heads that share a key-value head."""
    groups: int
    """Key-value heads of a sequence."""
    sequences: int
    """Sequences that the tiles tell apart, 1 where they serve all alike."""
    scale: float
    soft_cap: float | None


class Inputs(NamedTuple):
    """The tensors of a call, flattened; or their gradients."""

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    sinks: Tensor | None


class Strip(NamedTuple):
    """A tile, for some of the heads."""

    tile: Tile
    heads: slice
    rows: slice
    """Rows of the flattened query, `each` for every row of the tile."""


class Workspace:
    """Some of the heads: the tensors that their tiles are cut from, and the buffers that tiles are computed in."""

    def __init__(self, problem: Problem, given: Inputs, heads: slice) -> None:
        self.problem = problem
        self.given = given
        self.heads = heads
        self._masks = Masks(given.query.dtype)
        self._rooms: dict[str, Tensor] = {}

    def strips(self) -> Iterator[Strip]:
        """Every tile, cut by heads so that its scores stay in cache; a bias keeps sequences apart too."""
        problem, bytes_each = self.problem, self.given.query.element_size()
        own = self.given.query.shape[0] // problem.sequences
        for tile in problem.tiling.tiles:
            first, last = self.heads.start, self.heads.stop
            if tile.batch is not None:
                first, last = max(first, tile.batch * own), min(last, (tile.batch + 1) * own)
            rows = slice(tile.rows.start * problem.each, tile.rows.stop * problem.each)
            step = max(1, _CACHE // (bytes_each * (rows.stop - rows.start) * tile.columns))
            while first < last:
                stop = min(first + step, last)
                if self.given.bias is not None:
                    stop = min(stop, (first // problem.groups + 1) * problem.groups)
                yield Strip(tile, slice(first, stop), rows)
                first = stop

    def scores(self, strip: Strip) -> Tensor:
        """The scores of a strip before any mask, in a buffer that the next strip overwrites."""
        query, key = self.given.query[strip.heads, strip.rows], self.part("key", self.given.key, strip)
        scores = self.room("scores", (query.shape[0], query.shape[1], strip.tile.columns))
        # With beta=0 what stood in the room counts for nothing, whatever it was.
        torch.baddbmm(scores, query, key.mT, beta=0, alpha=self.problem.scale, out=scores)
        if self.problem.soft_cap is not None:
            bent = torch.div(scores, self.problem.soft_cap, out=self.room("bent", scores.shape)).tanh_()
            torch.mul(bent, self.problem.soft_cap, out=scores)
        if self.given.bias is not None:
            cells = self.cells(strip, scores)
            for columns, part in self.bias_parts(self.given.bias, strip):
                cells[..., columns].add_(part)
        return scores

    def close(self, strip: Strip, weights: Tensor) -> Tensor:
        """Make the weights zero where there is no edge, whatever stood there."""
        if strip.tile.look is not None:
            for columns, bits in self._masks.of(strip.tile.look):
                self.cells(strip, weights).view(bits.dtype)[..., columns].bitwise_and_(bits[:, None])
        return weights

    def hide(self, strip: Strip, scores: Tensor) -> Tensor:
        """Make the scores −∞ where there is no edge."""
        if strip.tile.look is not None:
            for columns, bits in self._masks.of(strip.tile.look):
                self.cells(strip, scores)[..., columns].masked_fill_((bits == 0)[:, None], -torch.inf)
        return scores

    def cells(self, strip: Strip, scores: Tensor) -> Tensor:
        """Scores as (heads, rows, each, columns)."""
        return scores.view(scores.shape[0], -1, self.problem.each, strip.tile.columns)

    def sinks(self, strip: Strip) -> Tensor | None:
        """The sinks of a strip, (heads, 1, each)."""
        if self.given.sinks is None:
            return None
        heads = torch.arange(strip.heads.start, strip.heads.stop) % self.problem.groups
        return self.given.sinks[heads]

    def part(self, name: str, tensor: Tensor, strip: Strip) -> Tensor:
        """The keys or values that a strip reads."""
        parts = [tensor[strip.heads, keys] for keys in strip.tile.keys]
        return self.compact(name, parts[0]) if len(parts) == 1 else torch.cat(parts, 1)

    def compact(self, name: str, part: Tensor) -> Tensor:
        """The same numbers, side by side where products in half precision would otherwise be slow."""
        if part.element_size() > 2 or part.is_contiguous():
            return part
        return self.room(name, part.shape).copy_(part)

    def product(self, target: Tensor, left: Tensor, right: Tensor, factor: Tensor | float) -> None:
        """Write left · right, each row times its factor, into some rows of a larger tensor."""
        if target.element_size() <= 2:
            torch.bmm(left, right, out=target).mul_(factor)
        else:
            # In float32 a product that writes there takes a slow path: it writes beside first.
            torch.mul(torch.bmm(left, right, out=self.room("product", target.shape)), factor, out=target)

    def spread(self, sums: Tensor, strip: Strip, left: Tensor, right: Tensor, factor: float = 1.0) -> None:
        """Add left · right, times a factor, to the rows of the keys that a strip read."""
        part = torch.bmm(left, right, out=self.room("spread", (left.shape[0], left.shape[1], right.shape[2])))
        for columns, keys in strip.tile.parts():
            sums[strip.heads, keys].add_(part[:, columns], alpha=factor)

    def bias_parts(self, bias: Tensor, strip: Strip) -> Iterator[tuple[slice, Tensor]]:
        """The bias of a strip, as views that broadcast over (heads, rows, each, columns), and of which columns."""
        sequence, head = divmod(strip.heads.start, self.problem.groups)
        part = bias[sequence if bias.shape[0] > 1 else 0]
        if part.shape[0] > 1:
            part = part[head : head + strip.heads.stop - strip.heads.start]
        if part.shape[1] > 1:
            part = part[:, strip.tile.rows]
        for columns, keys in strip.tile.parts():
            yield columns, part[..., keys] if part.shape[-1] > 1 else part

    def room(self, name: str, shape: tuple[int, ...] | torch.Size) -> Tensor:
        """A buffer of this shape, with whatever was left in it."""
        size = math.prod(shape)
        flat = self._rooms.get(name)
        if flat is None or flat.numel() < size:
            flat = self._rooms[name] = self.given.query.new_empty(size)
        return flat[:size].view(shape)
