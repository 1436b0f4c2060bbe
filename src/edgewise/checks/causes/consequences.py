"""What follows from what: which other properties break where one kind of fault is there, and which cause is told first.

The table says what a fault of one kind can do to what other properties see, on the routes that have it. It never says
that it must: what is not explained by a fault on the same routes stays a finding of its own.
"""

__all__ = ["CAUSES", "LEAKING", "VISIBILITY", "follows", "rank", "uneven"]

_SEES = ("future-leak", "lost-visibility", "wrong-pattern", "padding-leak", "packing-leak", "batch-leak")
_PATHS = ("path-mismatch",)
VISIBILITY = (*_SEES, "mask-meaning")
"""Properties that read the same measurement: what one of them names on a route, the others leave to it."""
# A mask that is wrong leaves rows without a key (H3), makes the number of pads matter (K4), and added is a bias (K5).
_MASK = (*_SEES, *_PATHS, "mask-meaning", "H3", "K4", "K5")
_AXES = (*_SEES, *_PATHS, "mask-meaning", "head-mapping", "position", "H3")

CAUSES: dict[str, tuple[str, ...]] = {
    # dropout where there should be none changes every number
    "L4": ("normalisation", "scale", "head-mapping", "position", *_PATHS),
    "L5": ("normalisation", "scale", *_PATHS),
    # what a mask means is wrong: every sight of it is
    "G1": _MASK,
    "G4": _MASK,
    "G5": _MASK,
    "G6": _MASK,
    "G3": (*_MASK, "normalisation"),
    "G2": _MASK,
    # axes are taken for one another: rows, tokens or heads are mixed before any mask is read
    "E1": _AXES,
    "J1": (*_AXES, "scale"),
    "J2": _AXES,
    "J3": (*_AXES, "scale"),
    "E2": _MASK,
    # a softmax over the wrong axis, or with the wrong denominator, lets hidden cells be felt and bends every number
    "H1": (*_SEES, *_PATHS, "mask-meaning", "scale", "position", "head-mapping", "normalisation"),
    "H2": (*_SEES, *_PATHS, "mask-meaning", "scale", "K4", "normalisation"),
    "H4": (*_SEES, *_PATHS, "mask-meaning", "scale", "K4"),
    # a cache that has lost or mixed up what was read looks like a mask that hides it
    "L2": (*_SEES, "path-mismatch"),
    # edges
    "A2": (*_SEES, *_PATHS, "H3", "K4"),
    "C3": (*_SEES, *_PATHS, "H3", "K4"),
    "A3": ("wrong-pattern", "padding-leak", "packing-leak", "batch-leak", "K4", *_PATHS),
    "A1": ("wrong-pattern", "padding-leak", "packing-leak", "K4", "E3", *_PATHS),
    # one row's mask for all; only after what leaks without any mask, which another row's padding brings about
    "E3": (*_MASK, "position"),
    "B1": ("wrong-pattern", "padding-leak", "packing-leak", "H3", "K4", *_PATHS),
    "B2": ("wrong-pattern", "H3", *_PATHS),
    "B3": ("wrong-pattern", "H3", "position", *_PATHS),
    "C4": ("future-leak", "lost-visibility", "packing-leak", "H3", *_PATHS),
    "C2": ("lost-visibility", "H3", *_PATHS),
    "C1": ("lost-visibility", "H3", *_PATHS),
    # padding, documents, rows of a batch
    "D2": ("lost-visibility", "wrong-pattern", "batch-leak", "H3", "K4", *_PATHS),
    "D3": ("lost-visibility", "wrong-pattern", "batch-leak", "H3", "K4", *_PATHS),
    "H3": (*_SEES, *_PATHS, "mask-meaning", "K4"),
    "D1": ("batch-leak", "K4", *_PATHS),
    "D4": ("batch-leak", "K4", *_PATHS),
    "D5": ("batch-leak", *_PATHS),
    "E4": ("padding-leak", *_PATHS),
    "F2": ("packing-leak", "position", *_PATHS),
    "F1": ("packing-leak", "position", *_PATHS),
    "F3": ("packing-leak", "position", *_PATHS),
    # numbers
    "J4": _PATHS,
    "J5": ("scale", *_PATHS),
    "I4": _PATHS,
    "I2": _PATHS,
    "I1": _PATHS,
    "I3": _PATHS,
    "K4": ("batch-leak", "F3", *_PATHS),
    "K1": ("F3", *_PATHS),
    "K2": ("F3", *_PATHS),
    "K3": ("F3", *_PATHS),
    "K5": ("F3", *_PATHS),
}
"""For each kind, in the order in which causes are looked for: the properties and kinds that may follow from it."""

_UNEVEN = ("E1", "E2", "E3", "J1", "J2", "J3", "H1", "H4", "A3", "D4")
LEAKING = ("A1", "A2", "C3", "G1", "G2", "G4", "G5", "G6", "H2")
"""Kinds that read the future: fed part by part there is less of it, so that a cache makes a difference."""
_ORDER = {kind: place for place, kind in enumerate(CAUSES)}


def rank(kind: str) -> int:
    """Return the place of a kind among causes: the lower, the sooner it is taken for the cause."""
    return _ORDER.get(kind, len(_ORDER))


def follows(cause: str, offence: str, kind: str) -> bool:
    """Return whether a fault of kind `cause` can make a property, or one kind of it, break as well.

    Example:
        >>> follows("A1", "padding-leak", "D1"), follows("A1", "scale", "I1")
        (True, False)
    """
    may = CAUSES.get(cause, ())
    return offence in may or kind in may


def uneven(kind: str, *, cached: bool) -> bool:
    """Return whether two ways differ though both have a fault, as what it does depends on lengths or on the batch."""
    return kind in _UNEVEN or (cached and kind in LEAKING)
