"""Which axes are batch, heads, queries and keys, and tensors of any layout brought to these four."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from edgewise.tracing.routes.written.layout import Axes, sizes_of
from edgewise.tracing.routes.written.trail import Meeting, Product, Step

__all__ = ["Arrangement", "Unexplained", "arranged"]


class Unexplained(Exception):  # noqa: N818 - no error: said to whoever asks
    """A softmax between two products, of which it is not clear that it is attention."""


Group = tuple[int, ...]


@dataclass(frozen=True)
class Arrangement:
    """The cells of a product, (batch, row, column), cut into axes, and what each of them is."""

    cut: tuple[tuple[int, int], ...]
    """(size, step) of each axis, the widest step first."""
    batch: Group
    heads: Group
    query: Group
    key: Group
    columns: bool
    """The keys are the columns: the queries were the left operand."""

    def size(self, group: Group) -> int:
        """How many there are of something."""
        return math.prod(self.cut[axis][0] for axis in group)

    def within(self, size: int, step: int) -> Group:
        """The axes that one of this size and step is made of.

        Raises:
            Unexplained: it is made of no whole ones.
        """
        found = tuple(axis for axis, (_, one) in enumerate(self.cut) if size > 1 and step <= one < step * size)
        if self.size(found) != size:
            raise Unexplained("their cells are taken apart")
        return found

    def placed(self, tensor: Tensor, axes: Axes, groups: Sequence[Group], grouped: Group | None = None) -> Tensor:
        """A tensor with one axis for each group, of size 1 where it says the same all along.

        Args:
            tensor: any; axes beyond `axes` come last and stay.
            axes: what its axes walk through; an axis of one element stands for all.
            groups: the axes of the result.
            grouped: the group that may stay with fewer: each for several neighbours.

        Raises:
            Unexplained: it differs along an axis that is in no group.
        """
        shown: list[int] = []
        for have, size, step in zip(tensor.shape, axes.sizes, axes.steps, strict=False):
            shown += self.within(size, step) if have > 1 else ()
        rest = tuple(tensor.shape[len(axes.sizes) :])
        parts = tensor.reshape((*(self.cut[axis][0] for axis in shown), *rest))
        wanted = [axis for group in groups for axis in group if axis in shown]
        if len(wanted) < len(shown):
            raise Unexplained("keys or values differ from query to query")
        parts = parts.permute((*map(shown.index, wanted), *range(len(shown), parts.dim())))
        sizes, whole, merged = [], [], []
        for group in groups:
            there = tuple(axis for axis in group if axis in shown)
            fewer = group == grouped and there == group[: len(there)]
            full = [self.cut[axis][0] for axis in (there if fewer or not there else group)]
            sizes += [self.cut[axis][0] if axis in there else 1 for axis in (there if fewer or not there else group)]
            whole += full
            merged.append(math.prod(full))
        return parts.reshape((*sizes, *rest)).expand((*whole, *rest)).reshape((*merged, *rest))

    def unplaced(self, tensor: Tensor, axes: Axes, groups: Sequence[Group]) -> Tensor:
        """The way back: a tensor with one axis for each group, as one with these axes."""
        order = [axis for group in groups for axis in group]
        shown = [axis for size, step in zip(axes.sizes, axes.steps, strict=True) for axis in self.within(size, step)]
        rest = tuple(tensor.shape[len(groups) :])
        parts = tensor.reshape((*(self.cut[axis][0] for axis in order), *rest))
        parts = parts.permute((*map(order.index, shown), *range(len(order), parts.dim())))
        return parts.reshape((*axes.sizes, *rest))


def arranged(product: Product, steps: Sequence[Step], softmax: Step, meeting: Meeting) -> Arrangement:
    """What the axes of a product are, by the softmax and by how its cells have been looked at.

    Raises:
        Unexplained: they are not those of attention.
    """
    dim, weights = int(softmax.number), meeting.axes
    if weights is None:
        raise Unexplained("the weights are taken apart before they are multiplied with values")
    size, step = softmax.axes.sizes[dim], softmax.axes.steps[dim]
    columns = _are_columns(product, size, step)
    keys = product.columns if columns else product.rows
    step = (1 if columns else product.columns) if keys > 1 else 0
    looked = [_without_sinks(one, step, keys) for one in (*(each.axes for each in steps), *product.seen)]
    natural = max([_without_sinks(softmax.axes, step, keys), *looked], key=lambda axes: len(axes.sizes))
    split = product.left.origin.split or product.right.origin.split
    folded = _folded(product, split) if len(natural.sizes) < 4 else None
    cut = sizes_of([product.axes, weights, *looked, natural, *([folded] if folded else [])])
    if cut is None or any(axes.at for axes in (weights, *looked)):
        raise Unexplained("only a part of them is used")
    contracted = 1 if meeting.turned else 2
    if (weights.sizes[contracted], weights.steps[contracted]) != (keys, step):
        raise Unexplained(
            "their softmax does not run over the keys that the values are summed over: it divides by the sum over "
            "queries" if _side(product, weights.steps[contracted], weights.sizes[contracted], not columns) else
            "their softmax does not run over the keys that the values are summed over"
        )  # fmt: skip
    return _roles(product, tuple(cut), natural, columns, folded)


def _are_columns(product: Product, size: int, step: int) -> bool:
    """Whether the softmax runs over the columns; else over the rows.

    Raises:
        Unexplained: it runs over neither.
    """
    if size == 1:
        if 1 not in (product.columns, product.rows):
            raise Unexplained("their softmax runs over one element")
        return product.columns == 1
    if step == 1:
        return True
    if step == product.columns and size >= product.rows:
        return False
    raise Unexplained("their softmax runs over heads or sequences, not over keys")


def _side(product: Product, step: int, size: int, columns: bool) -> bool:
    return (step, size) == ((1, product.columns) if columns else (product.columns, product.rows))


def _without_sinks(axes: Axes, step: int, keys: int) -> Axes:
    """The axes, with the keys alone where sinks had been put beside them."""
    sizes = tuple(
        keys if one == step and keys < size <= keys + 1 else size
        for size, one in zip(axes.sizes, axes.steps, strict=True)
    )
    return Axes(axes.at if sizes == axes.sizes else 0, sizes, axes.steps)


def _folded(product: Product, split: tuple[int, int] | None) -> Axes | None:
    """The batch of a product as (batch, heads), where it is known to have been folded from these."""
    if split is None or split[0] * split[1] != product.batch:
        return None
    step = product.rows * product.columns
    steps = (step * split[1] if split[0] > 1 else 0, step if split[1] > 1 else 0)
    return Axes(0, split, steps)


def _roles(
    product: Product, cut: tuple[tuple[int, int], ...], natural: Axes, columns: bool, folded: Axes | None
) -> Arrangement:
    plain = Arrangement(cut, (), (), (), (), columns)
    side = [(1, product.columns), (product.columns, product.rows)]
    key = plain.within(side[not columns][1], side[not columns][0])
    asking = plain.within(side[columns][1], side[columns][0])
    places = [plain.within(size, step) for size, step in zip(natural.sizes, natural.steps, strict=True)]
    at_key = next((at for at, place in enumerate(places) if place == key and key), None)
    if at_key is None:
        at_key = max((at for at, size in enumerate(natural.sizes) if size == 1), default=-1)
    at_query = _query(plain, natural, places, at_key, asking, key)
    query = tuple(axis for axis in (places[at_query] if at_query is not None else ()) if axis in asking)
    leads = [place for at, place in enumerate(places) if at not in (at_key, at_query)]
    if folded is not None:
        heads = plain.within(folded.sizes[1], folded.steps[1])
    else:
        heads = leads[-1] if len(leads) > 1 else ()
    taken = {*key, *query, *heads}
    batch = tuple(axis for axis in range(len(cut)) if axis not in taken)
    return Arrangement(cut, batch, heads, query, key, columns)


def _query(
    plain: Arrangement, natural: Axes, places: Sequence[Group], at_key: int, asking: Group, key: Group
) -> int | None:
    """Which axis the queries are: of those on their side, the one as long as the keys, else the last."""
    there = [at for at, place in enumerate(places) if place and set(place) & set(asking)]
    last = max((at for at in range(len(places)) if at != at_key), default=None)
    alike = [at for at in there if plain.size(places[at]) == plain.size(key)]
    if alike:
        return alike[-1]
    single = last is not None and natural.sizes[last] == 1 and len(places) > 3
    if there and not single:
        return there[-1]
    ones = [at for at, size in enumerate(natural.sizes) if size == 1 and at != at_key]
    return ones[-1] if ones else (there[-1] if there else None)


def contiguous(sizes: Iterable[int]) -> tuple[int, ...]:
    """The steps of axes that lie one in the other; 0 for an axis of one element."""
    found, step = [], 1
    for size in reversed(tuple(sizes)):
        found.append(step if size > 1 else 0)
        step *= size
    return tuple(reversed(found))
