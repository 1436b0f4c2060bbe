"""Where the scores lie: which cell of a product each element of a tensor is, whatever views and copies came between.

Cells are numbered as they lie in the product that made them, (batch, row, column). A storage that holds scores keeps
runs: so many elements, so far apart here, are cells so far apart there. A view of that storage has strides, and they
say by themselves which cells its axes walk through, so that no view need ever be followed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from torch import Tensor

__all__ = ["Axes", "Layout", "axes_of", "laid", "sizes_of"]


class Axes(NamedTuple):
    """What the axes of a tensor walk through."""

    at: int
    """The cell of the first element."""
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    """From one element to the next, in cells; 0 for an axis of one element."""


class Layout(NamedTuple):
    """What a storage holds."""

    start: int
    """The first element."""
    at: int
    """Its cell."""
    runs: tuple[tuple[int, int, int], ...]
    """(elements apart, how many, cells apart), the widest first."""


def laid(tensor: Tensor, axes: Axes) -> Layout:
    """The layout of a storage in which `tensor` has these axes.

    Example:
        >>> import torch
        >>> laid(torch.empty(2, 3, 5), Axes(0, (2, 3, 5), (15, 5, 1)))
        Layout(start=0, at=0, runs=((1, 30, 1),))
    """
    runs: list[tuple[int, int, int]] = []
    known = zip(tensor.stride(), axes.sizes, axes.steps, strict=True)
    for apart, size, step in sorted((run for run in known if run[1] > 1), reverse=True):
        if runs and runs[-1][0] == apart * size and runs[-1][2] == step * size:
            runs[-1] = (apart, runs[-1][1] * size, step)
        else:
            runs.append((apart, size, step))
    return Layout(tensor.storage_offset(), axes.at, tuple(runs))


def axes_of(tensor: Tensor, layout: Layout) -> Axes | None:
    """The axes of a tensor in a storage of this layout; None where they step through no cells evenly.

    Example:
        >>> import torch
        >>> scores = torch.empty(6, 5, 5)
        >>> axes_of(scores.view(2, 3, 5, 5).transpose(1, 2), Layout(0, 0, ((1, 150, 1),)))
        Axes(at=0, sizes=(2, 5, 3, 5), steps=(75, 5, 25, 1))
    """
    at, rest = layout.at, tensor.storage_offset() - layout.start
    for apart, size, step in layout.runs:
        index, rest = divmod(rest, apart)
        if not 0 <= index < size:
            return None
        at += index * step
    steps = [_step(size, stride, layout) for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return None if rest or None in steps else Axes(at, tuple(tensor.shape), tuple(step or 0 for step in steps))


def sizes_of(several: Iterable[Axes]) -> list[tuple[int, int]] | None:
    """The axes into which all of these can be cut, (size, step), the widest first; None where they do not fit.

    Example:
        >>> sizes_of([Axes(0, (6, 5, 5), (25, 5, 1)), Axes(0, (2, 3), (75, 25))])
        [(2, 75), (3, 25), (5, 5), (5, 1)]
    """
    ends = {end for axes in several for size, step in zip(axes.sizes, axes.steps, strict=True) if size > 1
            for end in (step, step * size)}  # fmt: skip
    cuts = sorted(ends | {1})
    if any(wide % narrow for narrow, wide in zip(cuts, cuts[1:], strict=False)):
        return None
    return [(wide // narrow, narrow) for narrow, wide in zip(cuts, cuts[1:], strict=False)][::-1]


def _step(size: int, stride: int, layout: Layout) -> int | None:
    if size == 1:
        return 0
    for apart, many, step in layout.runs:
        if stride >= apart:
            times, rest = divmod(stride, apart)
            return None if rest or times * (size - 1) >= many else times * step
    return None
