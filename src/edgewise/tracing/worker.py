"""A chunk's scores summed up while they are in the processor's cache.

exp(score) is summed as it is: no pass over the cells to find the largest score, none to divide. That is exact as long
as the sum of a row stays far from the ends of its dtype, which is looked at afterwards; a strip where it does not is
summed again relative to the largest score of each row.
"""

import math

import torch
from torch import Tensor

from edgewise.records import NEAR
from edgewise.tracing.flattened import Problem
from edgewise.tracing.strips import KEYS, Chunk, Strip
from edgewise.tracing.sums import Sums
from edgewise.tracing.tables import BLOCK, tables

__all__ = ["Worker"]


class Worker:
    """Whoever sums up strips, one after the other, in memory of its own."""

    def __init__(self, problem: Problem) -> None:
        self._of = problem
        self._rooms: dict[str, Tensor] = {}
        self._views: dict[str, dict[tuple[int, ...], Tensor]] = {}
        self._tables = tables(problem.query.dtype, problem.query.device, problem.each)

    def add(self, strip: Strip, heads: slice, first: int, to: Sums, *, shifted: bool = False) -> None:
        """Add the sums of a strip, for some heads of one sequence or of sequences that are alike.

        Args:
            strip: the strip.
            heads: which of the flattened heads.
            first: the key that counts as the first.
            to: where, for all rows.
            shifted: whether to sum relative to the largest score of each row, which takes twice as long.
        """
        rows = slice(strip.rows.start * self._of.each, strip.rows.stop * self._of.each)
        to, query = to.part(heads, rows), self._of.query[heads, rows]
        if shifted:
            to.shift.copy_(self._shift(query, strip, heads))
        for chunk in strip.chunks:
            edges = self._edges(strip, chunk, heads)
            if edges is False:
                continue
            scores = self._scores(query, strip, chunk, heads)
            if shifted:
                scores.sub_(to.shift[..., None])
            grown = torch.exp(scores, out=self._room("grown", scores.shape))
            self._close(grown, chunk, edges)
            if shifted:
                # No edge counts, whatever its score is: an infinity times 0 would be no number.
                self._close(scores, chunk, edges)
                scores.clamp_min_(torch.finfo(scores.dtype).min)
            self._largest(grown, chunk.keys.start, to)
            total = grown.sum(-1)
            to.total.add_(total)
            self._far(grown, strip, chunk, total, to.far)
            self._near(grown, strip, chunk, to)
            if chunk.keys.start <= first < chunk.keys.stop:
                to.first.copy_(grown[..., first - chunk.keys.start])
            to.dot.add_(scores.mul_(grown).sum(-1))

    def _shift(self, query: Tensor, strip: Strip, heads: slice) -> Tensor:
        """Return the largest score of each row; 0 where there is no edge."""
        most = query.new_full(query.shape[:2], -torch.inf)
        for chunk in strip.chunks:
            edges = self._edges(strip, chunk, heads)
            if edges is not False:
                scores = self._scores(query, strip, chunk, heads)
                self._hide(scores, chunk, edges)
                torch.maximum(most, scores.amax(-1), out=most)
        return most.masked_fill_(most == -torch.inf, 0)

    def _largest(self, grown: Tensor, start: int, to: Sums) -> None:
        """Keep the largest cell of each row and where it is, the first of several."""
        n, rows, columns = grown.shape
        if columns % BLOCK or columns < 4 * BLOCK:
            largest, where = grown.max(-1)
        else:
            # The largest of blocks of cells first, then the cells of one block: a plain search is a third as fast.
            blocks = grown.view(n * rows, -1, BLOCK)
            largest, block = blocks.amax(-1).max(-1)
            inside = blocks.view(-1, BLOCK).index_select(0, self._tables.lines(n * rows, columns // BLOCK) + block)
            inside = torch.where(inside == largest[:, None], self._tables.up[:BLOCK], BLOCK).amin(-1)
            where = torch.add(inside.long(), block, alpha=BLOCK).view(n, rows)
            largest = largest.view(n, rows)
        if start:
            better = largest > to.largest
            largest, where = torch.where(better, largest, to.largest), torch.where(better, where + start, to.where)
        to.largest.copy_(largest)
        to.where.copy_(where)

    def _far(self, grown: Tensor, strip: Strip, chunk: Chunk, total: Tensor, far: Tensor) -> None:
        """Add each cell times the distance between its query and its key."""
        columns = grown.shape[-1]
        if not chunk.behind:
            self._ramp(grown, strip, chunk.keys, total, far, before=True)
            return
        rows = strip.rows.stop - strip.rows.start
        left = min(max(0, strip.at - chunk.keys.start), columns)
        right = min(max(left, strip.at + rows - chunk.keys.start), columns)
        for part, before in ((slice(0, left), True), (slice(right, columns), False)):
            if part.start < part.stop:
                keys = slice(chunk.keys.start + part.start, chunk.keys.start + part.stop)
                self._ramp(grown[..., part], strip, keys, grown[..., part].sum(-1), far, before=before)
        if left < right:
            cells = self._cells(grown)[..., left:right]
            distance = self._tables.distances(rows, chunk.keys.start + left - strip.at, right - left)
            far.add_(torch.mul(cells, distance, out=self._room("room", cells.shape)).sum(-1).flatten(1))

    def _ramp(self, part: Tensor, strip: Strip, keys: slice, total: Tensor, far: Tensor, *, before: bool) -> None:
        """Add cells times a distance that rises or falls from key to key.

        It is counted from the end that is nearer to the rows, so that what is added is as exact as it is small.
        """
        columns = part.shape[-1]
        lines = part.as_strided((total.numel(), columns), (part.stride(1), 1))
        ramp = self._tables.down[KEYS - columns :] if before else self._tables.up[:columns]
        far.add_(torch.mv(lines, ramp).view(total.shape))
        rows = self._tables.rows(total.shape[1])
        if before:
            far.addcmul_(total, rows + (strip.at - keys.stop))
        else:
            far.addcmul_(total, (keys.start - strip.at) - rows)

    def _near(self, grown: Tensor, strip: Strip, chunk: Chunk, to: Sums) -> None:
        """Add what is near, on the row's own key, and on the one before."""
        rows, columns = strip.rows.stop - strip.rows.start, grown.shape[-1]
        first = strip.at - chunk.keys.start
        if not chunk.behind and first >= NEAR and first + rows <= columns:
            # The diagonal and those before it, as the columns of a view whose rows begin one key later each.
            each = self._of.each
            sizes, steps = (len(grown), rows, each, NEAR + 1), (grown.stride(0), each * columns + 1, columns, 1)
            band = grown.as_strided(sizes, steps, grown.storage_offset() + first - NEAR)
            to.near.add_(band.sum(-1).flatten(1))
            to.own.add_(band[..., NEAR].flatten(1))
            to.previous.add_(band[..., NEAR - 1].flatten(1))
            return
        left, right = max(0, first - NEAR), min(columns, first + rows + NEAR)
        if left >= right:
            return
        cells = self._cells(grown)[..., left:right]
        near, places, there = self._tables.around(rows, chunk.keys.start + left - strip.at, right - left)
        to.near.add_(torch.mul(cells, near, out=self._room("room", cells.shape)).sum(-1).flatten(1))
        both = cells.gather(-1, places.expand(*cells.shape[:-1], 2)).mul_(there).flatten(1, 2)
        to.own.add_(both[..., 0])
        to.previous.add_(both[..., 1])

    def _scores(self, query: Tensor, strip: Strip, chunk: Chunk, heads: slice) -> Tensor:
        """Return the scores of a chunk before any mask, in memory that the next chunk overwrites."""
        key = self._of.key[heads, chunk.keys]
        scores = self._room("scores", (*query.shape[:2], key.shape[1]))
        # With beta=0 what stood in the room counts for nothing, whatever it was.
        torch.baddbmm(scores, query, key.mT, beta=0, alpha=self._of.scale, out=scores)
        if self._of.soft_cap is not None:
            scores.div_(self._of.soft_cap).tanh_().mul_(self._of.soft_cap)
        if self._of.bias is not None:
            self._cells(scores).add_(self._part(self._of.bias, strip, chunk, heads))
        return scores

    def _edges(self, strip: Strip, chunk: Chunk, heads: slice) -> Tensor | bool:
        """Return the edges of a chunk where they are booleans; True or False where all cells are alike."""
        if self._of.allowed is None:
            return True
        part = self._part(self._of.allowed, strip, chunk, heads)
        if not part.any():
            return False
        return True if part.all() else part

    def _close(self, cells: Tensor, chunk: Chunk, edges: Tensor | bool) -> None:
        """Make cells zero where there is no edge, whatever stood there."""
        if isinstance(edges, Tensor):
            self._cells(cells).masked_fill_(~edges, 0)
        elif chunk.look is not None:
            for columns, bits in self._tables.bits(chunk.look):
                self._cells(cells).view(bits.dtype)[..., columns].bitwise_and_(bits)

    def _hide(self, cells: Tensor, chunk: Chunk, edges: Tensor | bool) -> None:
        """Make cells −∞ where there is no edge."""
        if isinstance(edges, Tensor):
            self._cells(cells).masked_fill_(~edges, -torch.inf)
        elif chunk.look is not None:
            for columns, bits in self._tables.bits(chunk.look):
                self._cells(cells)[..., columns].masked_fill_(bits == 0, -torch.inf)

    def _part(self, tensor: Tensor, strip: Strip, chunk: Chunk, heads: slice) -> Tensor:
        """Return what a tensor of five axes says of a chunk, broadcasting over its cells."""
        sequence, head = divmod(heads.start, self._of.groups)
        part = tensor[sequence if tensor.shape[0] > 1 else 0]
        if part.shape[0] > 1:
            part = part[head : head + heads.stop - heads.start]
        part = part[:, strip.rows] if part.shape[1] > 1 else part
        return part[..., chunk.keys] if part.shape[-1] > 1 else part

    def _cells(self, scores: Tensor) -> Tensor:
        """Return scores as (heads, rows, each, columns)."""
        return scores.view(scores.shape[0], -1, self._of.each, scores.shape[-1])

    def _room(self, name: str, shape: tuple[int, ...] | torch.Size) -> Tensor:
        """Return memory of this shape, with whatever was left in it."""
        if shape not in self._views.setdefault(name, {}):
            size = math.prod(shape)
            if name not in self._rooms or self._rooms[name].numel() < size:
                self._rooms[name] = self._of.query.new_empty(size)
                self._views[name].clear()  # of memory that is no longer used
            self._views[name][shape] = self._rooms[name][:size].view(shape)
        return self._views[name][shape]
