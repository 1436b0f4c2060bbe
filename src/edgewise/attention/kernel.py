"""The arithmetic of the blocks route: one strip forward, the same strip backward, all strips on all threads.

A strip's weights are exp(score) where there is an edge, and the output is divided by their sums afterwards: no pass
over the cells to find the largest score, none to divide. That is exact as long as no sum leaves the range of its dtype,
which each strip checks; one that does (and any in float16) is computed again from exp(score − logsumexp). What is kept
for the backward pass is the logarithm of each row's sum.
"""

from functools import partial
from itertools import zip_longest

import torch
from torch import Tensor

from edgewise.attention.parallel import at_once, cut
from edgewise.attention.workspace import Inputs, Problem, Strip, Workspace

__all__ = ["backward", "forward"]

# Rows are trusted whose sum of exp(score) is between e ** −69 and e ** 69: float32 reaches e ** ±87, and what is
# e ** 17 times smaller than the sum does not count.
_TRUSTED = 69.0
# Cells from which threads are worth starting.
_WORTH = 1 << 20


def forward(problem: Problem, given: Inputs) -> tuple[Tensor, Tensor]:
    """The output, (n, rows · each, channels), and the logarithm of each row's sum, sinks included."""
    wide = torch.promote_types(given.query.dtype, torch.float32)
    out = _rows(problem, given.query, given.value.shape[-1])
    totals = given.query.new_zeros(given.query.shape[:-1], dtype=wide)

    def some(heads: slice) -> None:
        work = Workspace(problem, given, heads)
        for strip in work.strips():
            weights, total, factor = _weights(work, strip, wide)
            totals[strip.heads, strip.rows] = total
            work.product(out[strip.heads, strip.rows], weights, work.part("value", given.value, strip), factor)

    at_once([partial(some, heads) for heads in _shares(problem, given)])
    return out, totals


def backward(problem: Problem, given: Inputs, out: Tensor, totals: Tensor, grad: Tensor, *, wants_bias: bool) -> Inputs:
    """The gradients of the inputs, from that of the output."""
    wide = totals.dtype
    query = _rows(problem, given.query, given.query.shape[-1])
    key, value = torch.zeros_like(given.key, dtype=wide), torch.zeros_like(given.value, dtype=wide)
    sinks = None if given.sinks is None else given.sinks.new_zeros(given.key.shape[0], 1, problem.each)
    shares = _shares(problem, given)
    # Heads may share a bias: each thread sums its own, and the sums are added in a fixed order.
    biases = [torch.zeros_like(given.bias) for _ in shares] if given.bias is not None and wants_bias else []

    def some(heads: slice, bias: Tensor | None) -> None:
        work = Workspace(problem, given, heads)
        for strip in work.strips():
            rows = (strip.heads, strip.rows)
            _back(work, strip, out[rows], totals[rows], grad[rows], Inputs(query, key, value, bias, sinks))

    at_once([partial(some, heads, bias) for heads, bias in zip_longest(shares, biases)])
    if sinks is not None:
        sinks = sinks.unflatten(0, (-1, problem.groups)).sum(0)
    dtype = given.query.dtype
    return Inputs(query, key.to(dtype), value.to(dtype), sum(biases[1:], biases[0]) if biases else None, sinks)


def _weights(work: Workspace, strip: Strip, wide: torch.dtype) -> tuple[Tensor, Tensor, Tensor | float]:
    """Weights up to a factor for each row, the logarithm of each row's sum, and that factor."""
    if not (strip.tile.look is not None and strip.tile.look.empty):
        weights = work.close(strip, work.scores(strip).exp_())
        total = _with_sinks(work, strip, _sums(weights, wide).log_())
        if _trusted(total, weights.dtype):
            return weights, total, _factor(total)
    scores = work.hide(strip, work.scores(strip))
    total = scores.to(wide).logsumexp(-1)
    # A query with no key: any number here leaves exp(−∞ − number) = 0.
    total = _with_sinks(work, strip, total.masked_fill_(total == -torch.inf, 0))
    return _shifted(scores, total), total, 1.0


def _sums(weights: Tensor, wide: torch.dtype) -> Tensor:
    """The sum of each row; for bfloat16 in four parts, because torch sums it wider only after copying all of it."""
    if weights.dtype == wide or weights.shape[-1] % 4:
        return weights.sum(-1, dtype=wide)
    return weights.unflatten(-1, (4, -1)).sum(-1).sum(-1, dtype=wide)


def _shifted(scores: Tensor, total: Tensor) -> Tensor:
    """exp(score − total), written over the scores, whatever their dtype."""
    if scores.dtype == total.dtype:
        return scores.sub_(total[..., None]).exp_()
    return scores.copy_(scores.to(total.dtype).sub_(total[..., None]).exp_())


def _with_sinks(work: Workspace, strip: Strip, total: Tensor) -> Tensor:
    sinks = work.sinks(strip)
    if sinks is None:
        return total
    return torch.logaddexp(total.unflatten(1, (-1, work.problem.each)), sinks).flatten(1)


def _trusted(total: Tensor, dtype: torch.dtype) -> bool:
    """Whether exp(score) needs no shift in any of these rows; forward and backward must agree on that."""
    if dtype == torch.float16 or not total.numel():
        return False
    low, high = torch.aminmax(total)
    return low.item() > -_TRUSTED and high.item() < _TRUSTED


def _factor(total: Tensor) -> Tensor:
    """What makes exp(score) of each row a weight."""
    return total.neg().exp_()[..., None]


def _back(work: Workspace, strip: Strip, out: Tensor, total: Tensor, grad: Tensor, to: Inputs) -> None:
    """Take the gradient of the output back through a strip, and add what each input gets of it."""
    dtype = grad.dtype
    trusted = _trusted(total, dtype)
    weights = work.scores(strip)
    weights = work.close(strip, weights.exp_() if trusted else _shifted(weights, total))
    # What each row's weights are worth together; the gradient of a weight counts against it.
    mean = (grad.to(total.dtype) * out).sum(-1)
    if to.sinks is not None:
        to.sinks[strip.heads].sub_(_through_sinks(work, strip, total, mean))
    factor = _factor(total) if trusted else 1.0
    got = torch.mul(grad, factor, out=work.room("got", grad.shape))
    work.spread(to.value, strip, weights.mT, got)
    against = (mean[..., None] * factor).to(dtype)
    scores = _towards(work, got, work.part("value", work.given.value, strip), against, weights.shape).mul_(weights)
    if to.bias is not None:
        cells = work.cells(strip, scores)
        for columns, part in work.bias_parts(to.bias, strip):
            part.add_(cells[..., columns].sum_to_size(part.shape))
    if work.problem.soft_cap is not None:
        scores.mul_(1 - work.room("bent", scores.shape).square_())
    query = work.compact("query", work.given.query[strip.heads, strip.rows])
    work.spread(to.key, strip, scores.mT, query, work.problem.scale)
    keys = work.part("key", work.given.key, strip)
    work.product(to.query[strip.heads, strip.rows], scores, keys, work.problem.scale)


def _towards(work: Workspace, got: Tensor, values: Tensor, against: Tensor, shape: torch.Size) -> Tensor:
    """The gradient of the weights, got · valuesᵀ, minus `against`; in half precision rounded once."""
    room = work.room("towards", shape)
    if got.element_size() <= 2:
        return torch.baddbmm(-against, got, values.mT, out=room)
    return torch.bmm(got, values.mT, out=room).sub_(against)


def _through_sinks(work: Workspace, strip: Strip, total: Tensor, mean: Tensor) -> Tensor:
    """How much the sinks take from the loss: their share of each row times what the row is worth, summed over rows."""
    sinks = work.sinks(strip)
    assert sinks is not None
    shape = (-1, work.problem.each)
    return ((sinks - total.unflatten(1, shape)).exp_() * mean.unflatten(1, shape)).sum(1, keepdim=True)


def _rows(problem: Problem, query: Tensor, width: int) -> Tensor:
    """Room for `width` numbers for each row of the query; zeros, unless the tiles will write every row."""
    shape = (*query.shape[:-1], width)
    written = 0
    for tile in problem.tiling.tiles:
        written += (tile.rows.stop - tile.rows.start) * (problem.sequences if tile.batch is None else 1)
    everything = query.shape[1] // problem.each * problem.sequences
    return query.new_empty(shape) if written == everything else query.new_zeros(shape)


def _shares(problem: Problem, given: Inputs) -> list[slice]:
    """The flattened heads, cut into one piece a thread; one piece where that is not worth starting threads."""
    heads, threads = given.key.shape[0], torch.get_num_threads()
    if heads < threads or heads * problem.each * problem.tiling.cells // problem.sequences < _WORTH:
        return [slice(0, heads)]
    return cut(heads, threads)
