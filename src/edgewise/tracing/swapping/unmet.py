"""A swap that names what is not there changes nothing, and says so: before the model runs where that is known."""

import difflib
from collections.abc import Iterable, Mapping

from edgewise.errors import ArgumentError, TraceError
from edgewise.records import Site
from edgewise.tracing.choice import Choice, fits

__all__ = ["complaint", "named"]

_SHOWN = 6


def named(choice: Choice, names: Iterable[str]) -> None:
    """Nothing, where each site that is named by a text is one of the modules of a model.

    Raises:
        ArgumentError: one is not.
    """
    paths = list(names)
    for one in choice.several:
        if isinstance(one, str) and one not in ("self", "cross") and not any(fits(one, path) for path in paths):
            close = difflib.get_close_matches(one, paths, 3, 0.5)
            raise ArgumentError(
                f"a site must be the path of a module, a pattern that fits one, the number of a layer, "
                f'"self" or "cross"; got {one!r}, which fits none of this model'
                + (f": did you mean {' or '.join(map(repr, close))}?" if close else "")
            )


def complaint(choice: Choice, met: Iterable[Site], seen: Iterable[str], missed: Mapping[str, str]) -> TraceError | None:
    """What to raise where something that was named was never swapped.

    Args:
        choice: the sites that were named.
        met: where calls were swapped.
        seen: the names of all sites where there was attention.
        missed: where there was some that could not be swapped, and why.
    """
    met, seen = list(met), list(seen)
    if missed:
        site, why = next(iter(missed.items()))
        return TraceError(
            f"swap must replace every call at the sites that it names; at {site} there is attention that is not "
            f"understood, and that nothing was replaced in: {why}; name the other sites to leave it out"
        )
    never = [one for one in choice.several if not any(choice.means(one, site) for site in met)]
    if met and not never:
        return None
    wanted = " or ".join(map(repr, never)) if never else "any site"
    if not seen:
        there = "no attention was seen while it lasted; run the model inside `with swap`"
    else:
        there = f"there was attention at {', '.join(seen[:_SHOWN])}" + (", …" if len(seen) > _SHOWN else "")
    return TraceError(f"swap must meet a call of attention at {wanted}, and met none: {there}")
