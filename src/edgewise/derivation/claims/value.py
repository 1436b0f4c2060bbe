"""Values, and the head that is worked out by hand from x to its output."""

import torch
from torch import Tensor

from edgewise.attention import Stages, reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import above, below, near
from edgewise.derivation.worked import KEY, ONE_HOT, QUERY, VALUE, Matrix, attention_by_hand
from edgewise.graphs import causal

__all__ = ["CLAIMS", "worked_head"]

Y = [1.0, 1.0, 0.0]  # y has no column in a head made for h, o and u: it comes as a mixture of two of them


def worked_head(x: Matrix) -> Stages:
    """Return every stage of the hand-made head over the rows of x, unscaled."""
    rows = torch.tensor(x)
    query, key, value = (rows @ torch.tensor(weight).T for weight in (QUERY, KEY, VALUE))
    return reference(query, key, value, causal(), scale=1.0)


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@claim("v.weights-unmoved", expected={"weights_equal": True, "out_equal": False}, kind="exact")
def weights_unmoved() -> Measured:
    """Another matrix for the values moves not one weight, only what comes out."""
    x, (query, key, value, other) = _random(8, 32), _random(4, 32, 16)
    first, second = (reference(x @ query, x @ key, x @ matrix, causal()) for matrix in (value, other))
    return {
        "weights_equal": torch.equal(first.weights, second.weights),
        "out_equal": torch.equal(first.out, second.out),
    }


@claim("v.shape", expected={"shape": [4, 8, 16]}, kind="exact")
def shape() -> Measured:
    """What is blended is the values: from (4, 8, 32) a head of width 16 makes (4, 8, 16)."""
    x, (query, key, value) = _random(4, 8, 32), _random(3, 32, 16)
    return {"shape": list(reference(x @ query, x @ key, x @ value, causal()).out.shape)}


@claim(
    "hand.worked-table",
    expected={"u_weights": near([0.80, 0.02, 0.18], 0.005), "u_out": near([8.87, 1.13], 0.005)},
    kind="close",
)
def worked_table() -> Measured:
    """The hand-made head over h, o, u ends with u reading 0.80 of h, 0.02 of o, 0.18 of itself: [8.87, 1.13]."""
    stages = worked_head(ONE_HOT)
    return {
        "u_scores": stages.raw[2].tolist(),
        "u_weights": stages.weights[2].tolist(),
        "u_out": stages.out[2].tolist(),
    }


@claim("hand.pure-python", expected={"cells": 30, "largest_difference": below(1e-5)}, kind="close")
def pure_python() -> Measured:
    """The whole table worked out with lists and `math` alone agrees with the tensors in every finite cell."""
    stages, by_hand = worked_head(ONE_HOT), attention_by_hand(ONE_HOT)
    gaps = [
        abs(one - other)
        for name in ("raw", "masked", "weights", "out")
        for row, mine in zip(getattr(stages, name).tolist(), by_hand[name], strict=True)
        for one, other in zip(row, mine, strict=True)
        if one != other or abs(one) != float("inf")
    ]
    return {"cells": len(gaps), "largest_difference": max(gaps), "u_out": by_hand["out"][2]}


@claim("hand.content-dependent", expected={"largest_difference": above(0.1)}, kind="property")
def content_dependent() -> Measured:
    """The same head over another sequence, y o u, has other weights: they are computed from what is read."""
    hou, you = worked_head(ONE_HOT).weights, worked_head([Y, *ONE_HOT[1:]]).weights
    return {"hou": hou[2].tolist(), "you": you[2].tolist(), "largest_difference": (hou - you).abs().max().item()}


CLAIMS: tuple[Claim, ...] = (weights_unmoved, shape, worked_table, pure_python, content_dependent)
