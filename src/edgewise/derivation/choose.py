"""Which claims a person means: an id, a section, or a pattern such as "scale.*"."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from edgewise.derivation.claim import Claim
from edgewise.derivation.claims import CLAIMS
from edgewise.errors import ArgumentError

__all__ = ["choose"]


def choose(names: Sequence[str] = (), *, quick: bool = False) -> tuple[Claim, ...]:
    """Return the claims that `names` mean, in their own order; all of them when there are no names.

    `quick` leaves out those that train.

    Raises:
        ArgumentError: a name means no claim, or nothing is left.

    Example:
        >>> [claim.id for claim in choose(["cross"])]
        ['cross.shape', 'cross.self-is-special-case']
    """
    for name in names:
        if not any(_means(name, claim) for claim in CLAIMS):
            raise ArgumentError(_unknown(name))
    chosen = [claim for claim in CLAIMS if not names or any(_means(name, claim) for name in names)]
    kept = tuple(claim for claim in chosen if not (quick and claim.seconds))
    if not kept:
        trains = "trains" if len(chosen) == 1 else "train"
        raise ArgumentError(f"{', '.join(claim.id for claim in chosen)} {trains}, and quick leaves out what trains")
    return kept


def _means(name: str, claim: Claim) -> bool:
    return name in (claim.id, claim.section) or fnmatchcase(claim.id, name)


def _unknown(name: str) -> str:
    sections = list(dict.fromkeys(claim.section for claim in CLAIMS))
    close = get_close_matches(name, [*(claim.id for claim in CLAIMS), *sections], n=3)
    # A person may remember one half of an id only.
    close = close or [claim.id for claim in CLAIMS if name.strip("*.") and name.strip("*.") in claim.id][:3]
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return f"no claim is called {name!r}{hint}; the sections are {', '.join(sections)}"
