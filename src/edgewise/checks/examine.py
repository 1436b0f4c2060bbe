"""One property looked at on a lab, guarded: whatever its code or the target's does, something clear comes back."""

import time
import traceback
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.patience import OutOfTime
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Examined", "Noting", "examined"]

_ASKS_NOTHING = ("where", "given", "close")
"""What a property asks of the lab without looking at a route."""


@dataclass(frozen=True)
class Examined:
    """What came of looking at one property."""

    property: Property
    observations: tuple[Observation, ...] = ()
    routes: tuple[Route, ...] = ()
    """Routes that were looked at."""
    skipped: str = ""
    """Why it could not be told."""
    mistake: str = ""
    """The exception of a property's own code, and where it came from."""
    late: bool = False
    """Whether time ran out meanwhile."""
    seconds: float = 0.0


class Noting:
    """A lab as one property sees it, which notes the routes that are looked at."""

    def __init__(self, lab: "Lab") -> None:
        self._lab = lab
        self.looked: dict[Route, None] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._lab, name)
        if name in _ASKS_NOTHING or not callable(found):
            return found

        def noted(*given: Any, **named: Any) -> Any:
            answered = found(*given, **named)  # a route that is refused was not looked at
            self.looked |= {one: None for one in (*given, *named.values()) if isinstance(one, Route)}
            return answered

        return noted


def examined(one: Property, lab: "Lab") -> Examined:
    """Return what a property saw; a skip, an exception and the end of the time are told and never raised."""
    noting: Any = Noting(lab)
    seen: list[Observation] = []
    skipped, mistake, late, began = "", "", False, time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the numbers of odd targets set off is no news
            seen.extend(one.examine(noting))
    except Skip as why:
        skipped = str(why) or "it says not why"
    except Refused as why:
        skipped = f"it cannot be called in a way that this needs: {why}"
    except OutOfTime:
        skipped, late = "time ran out", True
    except MemoryError:
        skipped = "memory ran out"
    except Exception as error:
        skipped = next((says for words, says in _OF_TORCH.items() if words in str(error).lower()), "")
        mistake = "" if skipped else _told(error)
    # Routes of its own making, such as a larger batch, say nothing of the way that they are on.
    looked = (*(each for each in noting.looked if each in lab.routes), *(each.route for each in seen))
    return Examined(
        property=one,
        observations=tuple(seen),
        routes=tuple(dict.fromkeys(looked)),
        skipped=skipped,
        mistake=mistake,
        late=late,
        seconds=time.perf_counter() - began,
    )


_OF_TORCH = {
    "out of memory": "memory ran out",
    "not enough memory": "memory ran out",
    "modified by an inplace operation": "it has no gradients: it writes into what they are computed from",
}
"""What torch says in errors of no kind of their own, and what that means."""


def _told(error: Exception) -> str:
    at = traceback.extract_tb(error.__traceback__)[-1]
    place = at.filename.rsplit("/src/", 1)[-1]
    return f"{type(error).__name__}: {error} ({place}:{at.lineno})"
