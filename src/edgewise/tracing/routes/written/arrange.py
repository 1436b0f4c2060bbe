"""Which axes are batch, heads, queries and keys, and tensors of any layout brought to these four."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from edgewise.tracing.routes.written.layout import Axes, Parts, cuts_of
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
    batch: Group = ()
    heads: Group = ()
    query: Group = ()
    key: Group = ()
    columns: bool = True
    """The keys are the columns: the queries were the left operand."""

    def size(self, group: Group) -> int:
        """How many there are of something."""
        return math.prod(self.cut[axis][0] for axis in group)

    def within(self, parts: Parts) -> Group:
        """The axes that an axis of these parts is made of.

        Raises:
            Unexplained: it is made of no whole ones.
        """
        found: list[int] = []
        for size, step in parts:
            some = [axis for axis, (_, one) in enumerate(self.cut) if step <= one < step * size]
            if self.size(tuple(some)) != size:
                raise Unexplained("only a part of them is used")
            found += some
        return tuple(found)

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
        for have, parts in zip(tensor.shape, axes.parts, strict=False):
            shown += self.within(parts) if have > 1 else ()
        rest = tuple(tensor.shape[len(axes.sizes) :])
        wanted = [axis for group in groups for axis in group if axis in shown]
        if len(wanted) < len(shown):
            raise Unexplained("their keys or values differ from query to query")
        cells = tensor.reshape((*(self.cut[axis][0] for axis in shown), *rest))
        cells = cells.permute((*map(shown.index, wanted), *range(len(shown), cells.dim())))
        given: list[int] = []
        whole: list[int] = []
        merged: list[int] = []
        for group in groups:
            there = tuple(axis for axis in group if axis in shown)
            kept = there if not there or (group == grouped and there == group[: len(there)]) else group
            given += [self.cut[axis][0] if axis in there else 1 for axis in kept]
            whole += [self.cut[axis][0] for axis in kept]
            merged.append(self.size(kept))
        return cells.reshape((*given, *rest)).expand((*whole, *rest)).reshape((*merged, *rest))

    def unplaced(self, tensor: Tensor, axes: Axes, groups: Sequence[Group]) -> Tensor:
        """The way back: a tensor with one axis for each group, as one with these axes."""
        order = [axis for group in groups for axis in group]
        shown = [axis for parts in axes.parts for axis in self.within(parts)]
        rest = tuple(tensor.shape[len(groups) :])
        cells = tensor.reshape((*(self.cut[axis][0] for axis in order), *rest))
        cells = cells.permute((*map(order.index, shown), *range(len(order), cells.dim())))
        return cells.reshape((*axes.sizes, *rest))


def arranged(product: Product, steps: Sequence[Step], softmax: Step, meeting: Meeting) -> Arrangement:
    """What the axes of a product are, by the softmax and by how its cells have been looked at.

    Raises:
        Unexplained: they are not those of attention.
    """
    weights = meeting.axes
    if weights is None:
        raise Unexplained("their weights are taken apart before they are multiplied with values")
    sinks = any(step.verb == "sink" for step in steps)
    looked = [*product.seen, *(step.axes for step in steps), softmax.axes]
    looked = [without_sinks(one, product) for one in looked] if sinks else looked
    folded = _folded(product)
    cut = cuts_of([product.axes, weights, *looked, *([folded] if folded else [])])
    if cut is None or any(axes.at for axes in (weights, *looked)):
        raise Unexplained("only a part of them is used")
    plain = Arrangement(cut)
    rows, columns = (plain.within(parts) for parts in product.axes.parts[1:])
    over = plain.within(looked[-1].parts[int(softmax.number)])
    if over not in (rows, columns):
        raise Unexplained("their softmax runs over heads or sequences, not over keys")
    by_column = over == columns if over else product.columns == 1
    key, asking = (columns, rows) if by_column else (rows, columns)
    summed = plain.within(weights.parts[1 if meeting.turned else 2])
    if summed == asking != key:
        raise Unexplained("their softmax runs over the queries, while values are summed over the keys")
    if summed != key:
        raise Unexplained("their weights are mixed between heads or sequences after the softmax")
    return _roles(plain, _natural(plain, looked, key), folded, key, asking, columns=by_column)


def _natural(plain: Arrangement, looked: Sequence[Axes], key: Group) -> Axes:
    """The axes that say most about what is what: those of the softmax, unless batch and heads are one there."""
    softmax = looked[-1]
    whole = [axes for axes in looked if not key or key in map(plain.within, axes.parts)]
    return softmax if len(softmax.sizes) > 3 else max(reversed(whole), key=lambda axes: len(axes.sizes))


def without_sinks(axes: Axes, product: Product) -> Axes:
    """The axes, with the keys alone where sinks had been put beside them."""
    rows, columns = product.rows, product.columns
    joined = {(columns + 1, 1): (columns, 1), (rows + 1, columns): (rows, columns)}
    known = tuple(tuple(joined.get(part, part) for part in parts) for parts in axes.parts)
    parts = tuple(tuple(part for part in parts if part[0] > 1) for parts in known)
    if parts == axes.parts:
        return axes
    return Axes(max(axes.at, 0), tuple(math.prod(size for size, _ in one) for one in parts), parts)


def _folded(product: Product) -> Axes | None:
    """The batch of a product as (batch, heads), where it is known to have been folded from these."""
    split = product.left.origin.split or product.right.origin.split
    if split is None or split[0] * split[1] != product.batch:
        return None
    step = product.rows * product.columns
    return Axes.of(split, (step * split[1], step))


def _roles(
    plain: Arrangement, natural: Axes, folded: Axes | None, key: Group, asking: Group, *, columns: bool
) -> Arrangement:
    """The arrangement, given the keys and the side of the queries."""
    places = [plain.within(parts) for parts in natural.parts]
    folded = None if len(places) > 3 else folded
    ones = [at for at, place in enumerate(places) if not place]
    at_key = places.index(key) if key in places and key else max(ones, default=-1)
    at_query = _query(plain, places, at_key, asking, plain.size(key))
    query = () if at_query is None else tuple(axis for axis in places[at_query] if axis in asking)
    leads = [place for at, place in enumerate(places) if at not in (at_key, at_query)]
    heads = plain.within(folded.parts[1]) if folded else leads[-1] if len(leads) > 1 else ()
    if len(leads) > 2 and heads and set(heads) <= set(asking):
        heads = (*leads[-2], *heads)  # several for each key-value head
    taken = {*key, *query, *heads}
    batch = tuple(axis for axis in range(len(plain.cut)) if axis not in taken)
    return Arrangement(plain.cut, batch, heads, query, key, columns)


def _query(plain: Arrangement, places: Sequence[Group], at_key: int, asking: Group, keys: int) -> int | None:
    """Which axis the queries are: of those on their side, the one as long as the keys, else the last."""
    others = [at for at in range(len(places)) if at != at_key]
    there = [at for at in others if set(places[at]) & set(asking)]
    alike = [at for at in there if plain.size(places[at]) == keys]
    if alike:
        return alike[-1]
    ones = [at for at in others if not places[at]]
    if there and not (ones and ones[-1] == others[-1] and len(places) > 3):
        return there[-1]
    return (ones or there or [None])[-1]
