"""The arithmetic of the blocks route: one tile forward, the same tile backward, and the walk over all of them.

Tensors come flattened: query (n, rows · each, width), key and value (n, keys, …), where n counts sequences times
key-value heads and `each` query heads share one of those. bias is (sequences, groups, query, each, key) with axes of
length 1 where it is the same; sinks are (groups, 1, each). Products write into buffers that are used again: fresh
memory for each tile costs more than the arithmetic.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from edgewise.attention.tiles import Masks, Tile

__all__ = ["Inputs", "Problem", "backward", "forward"]

# Bytes of scores held at once: what stays in the second-level cache of two cores.
_CACHE = 2 << 20


class Problem(NamedTuple):
    """All of a call but its tensors."""

    tiles: tuple[Tile, ...]
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


def forward(problem: Problem, given: Inputs) -> Tensor:
    """The output, (n, rows · each, channels)."""
    work = _Work(problem, given)
    out = _rows(problem, given.query, given.value.shape[-1])
    for strip in work.strips():
        weights = work.weights(strip)
        work.product(out[strip.heads, strip.rows], weights, work.part("value", given.value, strip))
    return out


def backward(problem: Problem, given: Inputs, grad: Tensor, *, wants_bias: bool) -> Inputs:
    """The gradients of the inputs, from that of the output."""
    work = _Work(problem, given)
    wide = torch.promote_types(given.query.dtype, torch.float32)
    query = _rows(problem, given.query, given.query.shape[-1])
    key, value = torch.zeros_like(given.key, dtype=wide), torch.zeros_like(given.value, dtype=wide)
    bias = torch.zeros_like(given.bias) if given.bias is not None and wants_bias else None
    sinks = None if work.sinks is None else torch.zeros_like(work.sinks)
    for strip in work.strips():
        weights = work.weights(strip)
        got = work.compact("got", grad[strip.heads, strip.rows])
        values = work.part("value", given.value, strip)
        work.spread(value, strip, torch.bmm(weights.mT, got, out=work.room("spread", values.shape)))
        towards = torch.bmm(got, values.mT, out=work.room("towards", weights.shape))
        if sinks is not None:
            sinks[strip.heads].add_(work.sink_gradient(weights, towards))
        scores = _through_softmax(towards, weights)
        if bias is not None:
            cells = scores.view(work.tile_shape(strip))
            for columns, part in work.bias_parts(bias, strip):
                part.add_(cells[..., columns].sum_to_size(part.shape))
        if problem.soft_cap is not None:
            scores.mul_(1 - work.room("bent", scores.shape).square_())
        keys = work.part("key", given.key, strip)
        rows = query[strip.heads, strip.rows]
        work.product(rows, scores, keys)
        rows.mul_(problem.scale)
        asked = work.room("query", rows.shape)
        work.spread(key, strip, torch.bmm(scores.mT, asked, out=work.room("spread", keys.shape)))
    if sinks is not None and given.sinks is not None:
        sinks = sinks.unflatten(0, (-1, problem.groups)).sum(0)
    dtype = given.query.dtype
    return Inputs(query, key.to(dtype), value.to(dtype), bias, sinks)


def _rows(problem: Problem, query: Tensor, width: int) -> Tensor:
    """Room for `width` numbers for each row of the query; zeros, unless the tiles will write every row."""
    shape = (*query.shape[:-1], width)
    written = 0
    for tile in problem.tiles:
        written += (tile.rows.stop - tile.rows.start) * (problem.sequences if tile.batch is None else 1)
    everything = query.shape[1] // problem.each * problem.sequences
    return query.new_empty(shape) if written == everything else query.new_zeros(shape)


def _through_softmax(towards: Tensor, weights: Tensor) -> Tensor:
    """The gradient of the scores, weights × (towards − Σ towards × weights), written over `towards`.

    It holds with sinks too: the weights are then a softmax with one column left out, whose value is zero.
    """
    kernel = torch.ops.aten._softmax_backward_data.out
    return kernel(towards, weights, -1, towards.dtype, grad_input=towards)


class _Strip(NamedTuple):
    """A tile, for some of the heads."""

    tile: Tile
    heads: slice
    rows: slice
    """Rows of the flattened query, `each` for every row of the tile."""


class _Work:
    """The tensors that tiles are cut from, and the buffers that tiles are computed in."""

    def __init__(self, problem: Problem, given: Inputs) -> None:
        self.problem = problem
        self.query, self.key, self.bias = given.query, given.key, given.bias
        self.heads = given.key.shape[0]
        # One sink for each flattened head.
        self.sinks = None if given.sinks is None else given.sinks.repeat(self.heads // problem.groups, 1, 1)
        self._masks = Masks(given.query.dtype)
        self._rooms: dict[str, Tensor] = {}
        self._kept: Tensor | None = None

    def strips(self) -> Iterator[_Strip]:
        """Every tile, cut by heads so that its scores stay in cache; a bias keeps sequences apart too."""
        problem, bytes_each = self.problem, self.query.element_size()
        own = self.heads // problem.sequences
        for tile in problem.tiles:
            first, last = (0, self.heads) if tile.batch is None else (tile.batch * own, (tile.batch + 1) * own)
            rows = slice(tile.rows.start * problem.each, tile.rows.stop * problem.each)
            step = max(1, _CACHE // (bytes_each * (rows.stop - rows.start) * tile.columns))
            stretch = last - first if self.bias is None else problem.groups
            for start in range(first, last, stretch):
                for head in range(start, start + stretch, step):
                    yield _Strip(tile, slice(head, min(head + step, start + stretch)), rows)

    def weights(self, strip: _Strip) -> Tensor:
        """The weights of a tile, in a buffer that the next tile overwrites."""
        tile, query = strip.tile, self.query[strip.heads, strip.rows]
        query = torch.mul(query, self.problem.scale, out=self.room("query", query.shape))
        keys = self.part("key", self.key, strip)
        scores = self.room("scores", (*query.shape[:-1], tile.columns))
        torch.bmm(query, keys.mT, out=scores)
        if self.problem.soft_cap is not None:
            scores.div_(self.problem.soft_cap).tanh_()
            self.room("bent", scores.shape).copy_(scores)
            scores.mul_(self.problem.soft_cap)
        cells = scores.view(self.tile_shape(strip))
        if self.bias is not None:
            for columns, part in self.bias_parts(self.bias, strip):
                cells[..., columns].add_(part)
        if tile.look is not None:
            for columns, mask in self._masks.of(tile.look):
                cells[..., columns].add_(mask[:, None])
        nobody = None
        if self.bias is not None or (tile.look is not None and tile.look.empty):
            # A row of −∞ alone has no softmax: it gets one, and loses it again.
            nobody = scores.amax(-1, keepdim=True) == -torch.inf
            scores.masked_fill_(nobody, 0)
        self._kept = None if self.sinks is None else self._share(strip, scores)
        torch.softmax(scores, -1, out=scores)
        if self._kept is not None:
            scores.mul_(self._kept)
        return scores if nobody is None else scores.masked_fill_(nobody, 0)

    def _share(self, strip: _Strip, scores: Tensor) -> Tensor:
        """What a sink leaves to the keys of each row: e^L / (e^L + e^sink), L being the logsumexp of their scores."""
        assert self.sinks is not None
        total = scores.logsumexp(-1).unflatten(1, (-1, self.problem.each))
        return torch.sigmoid(total - self.sinks[strip.heads]).flatten(1)[..., None]

    def sink_gradient(self, weights: Tensor, towards: Tensor) -> Tensor:
        """The gradient of the sinks, summed over the rows of a tile."""
        assert self._kept is not None
        lost = (self._kept[..., 0] - 1) * (weights * towards).sum(-1)
        return lost.unflatten(1, (-1, self.problem.each)).sum(1, keepdim=True)

    def tile_shape(self, strip: _Strip) -> tuple[int, int, int, int]:
        """(heads, rows, each, columns)."""
        rows = strip.tile.rows.stop - strip.tile.rows.start
        return (strip.heads.stop - strip.heads.start, rows, self.problem.each, strip.tile.columns)

    def part(self, name: str, tensor: Tensor, strip: _Strip) -> Tensor:
        """The keys or values that a tile reads."""
        parts = [tensor[strip.heads, keys] for keys in strip.tile.keys]
        return self.compact(name, parts[0]) if len(parts) == 1 else torch.cat(parts, 1)

    def product(self, target: Tensor, left: Tensor, right: Tensor) -> None:
        """Write left · right into some rows of a larger tensor."""
        if target.element_size() <= 2:
            torch.bmm(left, right, out=target)
        else:
            # In float32 a product that writes there takes a slow path: it writes beside, and is copied.
            target.copy_(torch.bmm(left, right, out=self.room("product", target.shape)))

    def compact(self, name: str, part: Tensor) -> Tensor:
        """The same numbers, side by side where products in half precision would otherwise be slow."""
        if part.element_size() > 2 or part.is_contiguous():
            return part
        return self.room(name, part.shape).copy_(part)

    def spread(self, sums: Tensor, strip: _Strip, part: Tensor) -> None:
        """Add a tile's part to the rows of the keys that it read."""
        for columns, keys in strip.tile.parts():
            sums[strip.heads, keys].add_(part[:, columns])

    def bias_parts(self, bias: Tensor, strip: _Strip) -> Iterator[tuple[slice, Tensor]]:
        """The bias of a tile, as views that broadcast over (heads, rows, each, columns), and of which columns."""
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
        size = torch.Size(shape).numel()
        flat = self._rooms.get(name)
        if flat is None or flat.numel() < size:
            flat = self._rooms[name] = self.query.new_empty(size)
        return flat[:size].view(shape)
