"""Where the scores lie: which cell of a product each element of a tensor is, whatever views and copies came between.

Cells are numbered as they lie in the product that made them, (batch, row, column). A storage that holds scores keeps
runs: so many elements, so far apart here, are cells so far apart there. A view of that storage has strides, and they
say by themselves which cells its axes walk through, so that no view need ever be followed.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from torch import Tensor

__all__ = ["Axes", "Layout", "Parts", "axes_of", "contiguous", "cuts_of", "laid"]

Parts = tuple[tuple[int, int], ...]
"""What one axis walks through, (how many, cells apart), the widest first: mostly one, several where axes were merged in
an order in which the cells do not lie, none for an axis of one element."""


class Axes(NamedTuple):
    """What the axes of a tensor walk through."""

    at: int
    """The cell of the first element."""
    sizes: tuple[int, ...]
    parts: tuple[Parts, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], steps: Sequence[int]) -> "Axes":
        """Axes of one part each, from the first cell on."""
        parts = (((size, step),) if size > 1 else () for size, step in zip(sizes, steps, strict=True))
        return cls(0, tuple(sizes), tuple(parts))

    def led(self, many: int) -> "Axes":
        """The same with axes of one element before them, to be so many."""
        more = many - len(self.sizes)
        return Axes(self.at, (*(1,) * more, *self.sizes), (*((),) * more, *self.parts))


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
        >>> laid(torch.empty(2, 3, 5), Axes.of((2, 3, 5), (15, 5, 1)))
        Layout(start=0, at=0, runs=((1, 30, 1),))
    """
    single: list[tuple[int, int, int]] = []
    for stride, parts in zip(tensor.stride(), axes.parts, strict=True):
        apart = stride
        for size, step in reversed(parts):
            single.append((apart, size, step))
            apart *= size
    runs: list[tuple[int, int, int]] = []
    for apart, size, step in sorted(single, reverse=True):
        if runs and runs[-1][0] == apart * size and runs[-1][2] == step * size:
            runs[-1] = (apart, runs[-1][1] * size, step)
        else:
            runs.append((apart, size, step))
    return Layout(int(tensor.storage_offset()), axes.at, tuple(runs))


def axes_of(tensor: Tensor, layout: Layout) -> Axes | None:
    """The axes of a tensor in a storage of this layout; None where they walk through no cells evenly.

    Example:
        >>> import torch
        >>> scores = torch.empty(6, 5, 5)
        >>> axes_of(scores.view(2, 3, 5, 5).transpose(1, 2), Layout(0, 0, ((1, 150, 1),))).parts
        (((2, 75),), ((5, 5),), ((3, 25),), ((5, 1),))
    """
    at, rest = layout.at, int(tensor.storage_offset()) - layout.start
    for apart, size, step in layout.runs:
        index, rest = divmod(rest, apart)
        if not 0 <= index < size:
            return None
        at += index * step
    parts = [_parts(size, stride, layout.runs) for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    found = tuple(one for one in parts if one is not None)
    return None if rest or len(found) < len(parts) else Axes(at, tuple(tensor.shape), found)


def cuts_of(several: Iterable[Axes]) -> tuple[tuple[int, int], ...] | None:
    """The axes of which all of these are made, (size, step), the widest first; None where there are none.

    Example:
        >>> cuts_of([Axes.of((6, 5, 5), (25, 5, 1)), Axes.of((2, 3), (75, 25))])
        ((2, 75), (3, 25), (5, 5), (5, 1))
    """
    ends = {1}
    for size, step in (part for axes in several for parts in axes.parts for part in parts):
        ends |= {step, step * size}
    cuts = sorted(ends)
    if any(wide % narrow for narrow, wide in pairwise(cuts)):
        return None
    return tuple((wide // narrow, narrow) for narrow, wide in pairwise(cuts))[::-1]


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """The steps of axes that lie one in the other.

    Example:
        >>> contiguous((2, 3, 5))
        (15, 5, 1)
    """
    found, step = [], 1
    for size in reversed(sizes):
        found.append(step)
        step *= size
    return tuple(reversed(found))


def _parts(size: int, stride: int, runs: tuple[tuple[int, int, int], ...]) -> Parts | None:
    if size == 1:
        return ()
    at = next((at for at, run in enumerate(runs) if stride >= run[0]), None)
    if at is None:
        return None
    apart, many, step = runs[at]
    times, rest = divmod(stride, apart)
    if rest:
        return None
    if times * (size - 1) < many:
        return ((size, times * step),)
    inner, rest = divmod(many, times)
    if rest or size % inner or not at or runs[at - 1][0] != apart * many:
        return None
    outer = _parts(size // inner, runs[at - 1][0], runs[:at])
    return None if outer is None else (*outer, (inner, times * step))
