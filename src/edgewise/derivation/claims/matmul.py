"""The product: a weighted sum of rows for every position at once, and why dividing by the sum is not enough."""

import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.claims.average import MEANS, average
from edgewise.derivation.expected import below, near
from edgewise.derivation.worked import VECTORS

__all__ = ["CLAIMS", "shares_of"]

ROWS = torch.tensor(VECTORS)


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def shares_of(scores: list[float]) -> list[float]:
    """Return what a row of scores becomes when it is divided by its sum: the "sum" normaliser of the reference."""
    # Each key is a one-hot row, so that query · key is the score itself.
    one_hot = torch.eye(len(scores))
    return reference(torch.tensor([scores]), one_hot, one_hot, scale=1.0, normalise="sum").weights[0].tolist()


@claim("matmul.rows", expected={"largest_difference": near(0.0, 1e-5)}, kind="property")
def rows() -> Measured:
    """Row i of a @ b is the sum over j of a[i, j] times row j of b: a holds the proportions, b what is mixed."""
    a, b = _random(5, 7), _random(7, 3)
    mixed = torch.stack([sum((a[i, j] * b[j] for j in range(7)), torch.zeros(3)) for i in range(5)])
    return {"largest_difference": (a @ b - mixed).abs().max().item()}


@claim("matmul.all-ones", expected={"out": [[14, 16], [14, 16], [14, 16]]}, kind="exact")
def all_ones() -> Measured:
    """A matrix of ones adds up every row at every position, the future included."""
    return {"out": (torch.ones(3, 3) @ ROWS).tolist()}


@claim("matmul.lower-triangular", expected={"out": [[2, 7], [8, 11], [14, 16]]}, kind="exact")
def lower_triangular() -> Measured:
    """Ones on and below the diagonal, zeros above: each position adds up its past and itself only."""
    return {"out": (torch.ones(3, 3).tril() @ ROWS).tolist()}


@claim("matmul.zero-weight", expected={"equal": True}, kind="property")
def zero_weight() -> Measured:
    """Where a[i, j] is 0, row j of b adds nothing to row i, whatever (finite) numbers it holds."""
    a, b = torch.ones(3, 3).tril(), ROWS.clone()
    before = (a @ b)[:2]
    b[2] = torch.tensor([3e38, -1e30])
    return {"equal": torch.equal((a @ b)[:2], before), "row_2_became": b[2].tolist()}


@claim("matmul.normalised", expected={"out": near(MEANS, 1e-4), "like_the_loop": near(0.0, 1e-6)}, kind="close")
def normalised() -> Measured:
    """Each row of the triangle divided by its own sum turns the product into the average that the loop takes."""
    weights = torch.ones(3, 3).tril()
    out = weights / weights.sum(dim=1, keepdim=True) @ ROWS
    return {"out": out.tolist(), "like_the_loop": (out - average(ROWS[None])[0][0]).abs().max().item()}


@claim("matmul.broadcast", expected={"shape": [4, 8, 2], "largest_difference": below(1e-5)}, kind="close")
def broadcast() -> Measured:
    """Weights (8, 8) times x (4, 8, 2) is one product a sequence, shape (4, 8, 2), and agrees with the loop."""
    x, weights = _random(4, 8, 2), torch.ones(8, 8).tril()
    out = weights / weights.sum(dim=1, keepdim=True) @ x
    return {"shape": list(out.shape), "largest_difference": (out - average(x)[0]).abs().max().item()}


@claim(
    "matmul.keepdim-trap",
    expected={"raises": False, "rows_sum_to_one": False, "with_keepdim": near([1, 1, 1], 1e-6)},
    kind="exact",
)
def keepdim_trap() -> Measured:
    """Without keepdim the row sums are laid along the columns: no error, and rows that no longer sum to 1."""
    weights = torch.ones(3, 3).tril()
    try:
        wrong, raises = weights / weights.sum(dim=1), False
    except RuntimeError:
        wrong, raises = weights * torch.nan, True
    sums = wrong.sum(dim=1)
    return {
        "raises": raises,
        "rows_sum_to_one": bool(((sums - 1).abs() < 1e-6).all()),
        "row_sums": sums.tolist(),
        "with_keepdim": (weights / weights.sum(dim=1, keepdim=True)).sum(dim=1).tolist(),
    }


@claim("matmul.negative-weight", expected={"weights": [0.5, -0.25, 0.75]}, kind="exact")
def negative_weight() -> Measured:
    """Scores 2, −1, 3 divided by their sum 4 give one key a negative share."""
    return {"weights": shares_of([2.0, -1.0, 3.0])}


@claim("matmul.zero-sum", expected={"finite": False}, kind="exact")
def zero_sum() -> Measured:
    """Scores 1, −1, 0 cancel: there is nothing to divide by, and the shares are not numbers."""
    weights = shares_of([1.0, -1.0, 0.0])
    return {"finite": bool(torch.tensor(weights).isfinite().all()), "weights": weights}


CLAIMS: tuple[Claim, ...] = (
    rows,
    all_ones,
    lower_triangular,
    zero_weight,
    normalised,
    broadcast,
    keepdim_trap,
    negative_weight,
    zero_sum,
)
