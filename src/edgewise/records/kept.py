"""Which heads and rows of a call the arrays hold."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from edgewise.errors import ArgumentError
from edgewise.records.site import Site

__all__ = ["Kept"]


@dataclass(frozen=True)
class Kept:
    """Which heads and rows of a call the arrays hold; all of them, unless said.

    Args:
        heads: query heads, rising; their key-value heads are kept with them, and no others.
        rows: queries, rising, by their number in the call; keys are always kept whole.
        of_rows: how many queries the call had, where `rows` is given.

    Raises:
        ArgumentError: heads or rows are not rising numbers from 0, or `of_rows` is missing.
    """

    heads: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None
    of_rows: int = 0

    def __post_init__(self) -> None:
        for name, given in (("heads", self.heads), ("rows", self.rows)):
            if given is None:
                continue
            rising = all(one < other for one, other in pairwise(given))
            if not given or given[0] < 0 or not rising:
                raise ArgumentError(f"{name} that are kept must be rising numbers from 0, at least one; got {given}")
        if self.rows is not None and self.rows[-1] >= self.of_rows:
            raise ArgumentError(
                f"rows that are kept must be below of_rows={self.of_rows}, the queries of the call; got {self.rows[-1]}"
            )

    def groups(self, site: Site) -> tuple[int, ...]:
        """Return the key-value heads that the arrays hold."""
        if self.heads is None:
            return tuple(range(site.groups))
        return tuple(sorted({head // (site.heads // site.groups) for head in self.heads}))

    def place(self, site: Site, head: int) -> tuple[int, int]:
        """Return where a head lies in the arrays of queries, and its key-value head in those of keys.

        Raises:
            ArgumentError: there is no such head, or it was not kept.
        """
        if not -site.heads <= head < site.heads:
            raise ArgumentError(f"head must be from 0 to {site.heads - 1} at {site.name}; got {head}")
        head %= site.heads
        group = head // (site.heads // site.groups)
        if self.heads is None:
            return head, group
        if head not in self.heads:
            raise ArgumentError(
                f"head {head} of {site.name} was not kept; the record holds heads {_listed(self.heads)}: "
                "trace again with that head among heads="
            )
        return self.heads.index(head), self.groups(site).index(group)

    def lines(self, rows: range, where: str) -> slice:
        """Return where neighbouring rows lie in the arrays.

        Raises:
            ArgumentError: one of them was not kept.
        """
        if self.rows is None or not rows:
            return slice(rows.start, rows.stop)
        first = bisect_left(self.rows, rows.start)
        if self.rows[first : first + len(rows)] != tuple(rows):
            missing = next(row for row in rows if row not in self.rows)
            raise ArgumentError(
                f"row {missing} of {where} was not kept; the record holds rows {_listed(self.rows)} of {self.of_rows}: "
                "trace again with that row among rows="
            )
        return slice(first, first + len(rows))


def _listed(numbers: tuple[int, ...]) -> str:
    shown = [str(number) for number in numbers]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:8], "…", *shown[-2:]])
