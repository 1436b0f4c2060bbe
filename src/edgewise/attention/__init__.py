"""Attention: one definition, and the ways to compute it.

`reference` is the definition, every stage under its own name. `attend` computes the same by the fastest route that
serves the call, and `route_of` says which and why. `KeyValueCache` remembers what has been read; `positions` holds the
ways to say where a token stands. Which edges exist is a value from `edgewise.graphs`; `tiling` cuts it for kernels.
"""

from edgewise.attention.attend import attend, route_of
from edgewise.attention.cache import KeyValueCache
from edgewise.attention.normalise import Along, Normaliser, divide_by_sum, softmax
from edgewise.attention.positions import Learned, Pairing, alibi, rotary, sinusoidal, slopes
from edgewise.attention.reference import Stages, reference, survivors
from edgewise.attention.routes import Route
from edgewise.attention.tiles import Look, Masks, tiling

__all__ = [
    "Along",
    "KeyValueCache",
    "Learned",
    "Look",
    "Masks",
    "Normaliser",
    "Pairing",
    "Route",
    "Stages",
    "alibi",
    "attend",
    "divide_by_sum",
    "reference",
    "rotary",
    "route_of",
    "sinusoidal",
    "slopes",
    "softmax",
    "survivors",
    "tiling",
]
