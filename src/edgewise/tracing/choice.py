"""What of a model's attention to keep: which sites, heads and rows, and in which dtype."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from edgewise.errors import ArgumentError
from edgewise.records import Kept, Site
from edgewise.tracing.sites import Place

__all__ = ["Choice", "Numbers", "Sites", "fits"]

Sites = str | int | Sequence[str | int] | None
Numbers = int | slice | Sequence[int] | None


@dataclass(frozen=True)
class Choice:
    """What to keep of each call; None keeps everything.

    Args:
        sites: names, patterns with * and ?, numbers of layers, "self" or "cross", or several of them.
        heads: query heads, by their number; negative ones count from the last.
        rows: queries, by their number in the call; negative ones count from the last.
        dtype: what to keep numbers in; the model's own where None.

    Raises:
        ArgumentError: a site is no name and no number, or the dtype is no floating one.
    """

    sites: Sites = None
    heads: Numbers = None
    rows: Numbers = None
    dtype: torch.dtype | None = None

    def __post_init__(self) -> None:
        for one in self.several:
            if type(one) not in (str, int):
                raise ArgumentError(
                    'sites must be names like "model.layers.3.self_attn", patterns like "*.self_attn" or numbers of '
                    f"layers; got {one!r}"
                )
        if self.dtype is not None and not self.dtype.is_floating_point:
            raise ArgumentError(f"dtype must be a floating one, like torch.float16; got {self.dtype}")

    @property
    def several(self) -> tuple[str | int, ...]:
        """The sites that are named, one by one; none where all are meant."""
        if self.sites is None:
            return ()
        return tuple(self.sites) if isinstance(self.sites, Sequence) and type(self.sites) is not str else (self.sites,)

    def wants(self, site: Site | Place) -> bool:
        """Whether calls of this site are kept."""
        return self.sites is None or any(self.means(one, site) for one in self.several)

    @staticmethod
    def means(wanted: str | int, site: Site | Place) -> bool:
        """Whether one that is named is this site."""
        if isinstance(wanted, int):
            return site.layer == wanted
        return wanted == site.kind or fits(wanted, site.name)

    def kept(self, site: Site, rows: int) -> Kept | None:
        """Which heads and rows of a call are kept; None where none of them is.

        Raises:
            ArgumentError: the site has no such head.
        """
        heads = None if self.heads is None else self.chosen(site)
        some = _numbers(self.rows, rows)
        if some is None:
            return Kept(heads)
        some = tuple(row for row in some if 0 <= row < rows)
        return Kept(heads, some, rows) if some else None

    def chosen(self, site: Site) -> tuple[int, ...]:
        """The heads that are chosen of a site.

        Raises:
            ArgumentError: the site has no such head.
        """
        heads = _numbers(self.heads, site.heads)
        if heads is None:
            return tuple(range(site.heads))
        if not heads or heads[-1] >= site.heads or heads[0] < 0:
            raise ArgumentError(f"heads must be from 0 to {site.heads - 1} at {site.name}; got {self.heads}")
        return heads

    def part(self, tensor: Tensor, kept: Kept, site: Site, axes: str) -> Tensor:
        """What is kept of a tensor, detached.

        Args:
            tensor: any with four axes; axes of size 1 stand for all.
            kept: which heads and rows.
            site: where.
            axes: "queries" for (batch, heads, query, …), "keys" for (batch, groups, key, …).
        """
        chosen = tensor.detach()
        heads = kept.heads if axes == "queries" else kept.groups(site) if kept.heads is not None else None
        if heads is not None and chosen.shape[1] > 1:
            chosen = chosen[:, list(heads)]
        if kept.rows is not None and axes == "queries" and chosen.shape[2] > 1:
            chosen = chosen[:, :, list(kept.rows)]
        return chosen if self.dtype is None or chosen.dtype == torch.bool else chosen.to(self.dtype)


def fits(wanted: str, name: str) -> bool:
    """Whether a name is the one that is wanted, or fits it as a pattern."""
    return wanted == name or fnmatch.fnmatchcase(name, wanted)


def _numbers(wanted: Numbers, size: int) -> tuple[int, ...] | None:
    if wanted is None:
        return None
    if isinstance(wanted, slice):
        return tuple(range(*wanted.indices(size)))
    several = (wanted,) if isinstance(wanted, int) else tuple(wanted)
    return tuple(sorted({one + size if one < 0 else one for one in several}))
