"""Derivation: softmax(QKᵀ/√d)·V earned from "take an average", told rung by rung and proven claim by claim.

`derive` tells the story with every number worked out as it is told, trains the rungs, or runs the claims: small
functions, each of which measures one sentence and can fail. `CLAIMS` lists them. What comes back are frozen records.
"""

from edgewise.derivation.choose import choose
from edgewise.derivation.claim import Claim, ClaimResult
from edgewise.derivation.claims import CLAIMS
from edgewise.derivation.course import LessonResult
from edgewise.derivation.derive import Derivation, derive
from edgewise.derivation.following import Moment, follow
from edgewise.derivation.ink import Ink
from edgewise.derivation.reading import Reading
from edgewise.derivation.screen import Screen
from edgewise.derivation.story import Scene

__all__ = [
    "CLAIMS",
    "Claim",
    "ClaimResult",
    "Derivation",
    "Ink",
    "LessonResult",
    "Moment",
    "Reading",
    "Scene",
    "Screen",
    "choose",
    "derive",
    "follow",
]
