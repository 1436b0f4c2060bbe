"""The average: each position takes the mean of everything up to itself."""

from itertools import permutations

import torch
from torch import Tensor

from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import near
from edgewise.derivation.worked import VECTORS

__all__ = ["CLAIMS", "MEANS", "average"]

MEANS = [[2, 7], [4, 5.5], [4.6667, 5.3333]]


def average(x: Tensor) -> tuple[Tensor, int]:
    """Return the running means of each sequence by the double loop, and how often its body ran."""
    out, iterations = torch.empty_like(x), 0
    for sequence in range(len(x)):
        for position in range(x.shape[1]):
            out[sequence, position] = x[sequence, : position + 1].mean(dim=0)
            iterations += 1
    return out, iterations


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@claim("average.by-hand", expected={"means": near(MEANS, 1e-4)}, kind="close")
def by_hand() -> Measured:
    """With h = [2, 7], o = [6, 4], u = [6, 5] the running averages are [2, 7], [4, 5.5] and [4.67, 5.33]."""
    return {"means": average(torch.tensor([VECTORS]))[0][0].tolist()}


@claim("average.bag-of-words", expected={"orders": 24, "largest_difference": near(0.0, 1e-6)}, kind="property")
def bag_of_words() -> Measured:
    """The average forgets order: any rearrangement of positions 0 … t leaves the average at t as it was."""
    x = _random(1, 4, 8)
    orders = [average(x[:, list(order)])[0][0, -1] for order in permutations(range(4))]
    return {"orders": len(orders), "largest_difference": (torch.stack(orders) - orders[0]).abs().max().item()}


@claim("average.dimension-free", expected={"equal": True}, kind="property")
def dimension_free() -> Measured:
    """Averaging treats each channel alone: average a slice of the channels, or slice the average, it is the same."""
    x = _random(4, 8, 32)
    return {"equal": torch.equal(average(x[..., 5:9])[0], average(x)[0][..., 5:9])}


@claim("average.loop-cost", expected={"iterations": 16384}, kind="exact")
def loop_cost() -> Measured:
    """The double loop runs once a position of each sequence: 16384 times for 64 sequences of 256."""
    return {"iterations": average(torch.zeros(64, 256, 1))[1]}


CLAIMS: tuple[Claim, ...] = (by_hand, bag_of_words, dimension_free, loop_cost)
