"""A place in a model where attention runs."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Kind", "Site"]

Kind = Literal["self", "cross"]


@dataclass(frozen=True)
class Site:
    """One place in a model where attention runs, however often.

    Args:
        name: the path of its module in the model, such as "model.layers.3.self_attn".
        layer: which layer, from 0; None where the model does not say.
        kind: "self", or "cross" where the keys are another text's.
        heads: query heads of the model there, those included that a record does not keep.
        groups: key-value heads; each serves heads // groups query heads in a row.
        width: numbers per head in queries and keys.
    """

    name: str
    layer: int | None
    kind: Kind
    heads: int
    groups: int
    width: int
