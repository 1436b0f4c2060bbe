"""Three ways to take the same average: a loop, a product of matrices, a softmax of zeros."""

import torch

from edgewise.derivation.claims.average import average
from edgewise.derivation.claims.matmul import shares_of
from edgewise.derivation.claims.softmax import weights_of
from edgewise.derivation.reading import Reading
from edgewise.derivation.story.layout import beside, matrix, row
from edgewise.derivation.story.scene import Scene
from edgewise.derivation.worked import LETTERS, VECTORS

__all__ = ["loop", "matmul", "softmax"]

X = torch.tensor(VECTORS)


def loop(reading: Reading) -> Scene:
    """Tell of the running means of h, o and u."""
    del reading
    means, _ = average(X[None])
    lines = [
        f"  {', '.join(LETTERS[:seen]):<8} mean of {', '.join(map(row, VECTORS[:seen])):<22} = {row(mean)}"
        for seen, mean in enumerate(means[0], 1)
    ]
    iterations = average(torch.zeros(64, 256, 1))[1]
    return Scene(
        "loop",
        "\n".join(lines),
        "The last position knows of h, o and u: information has moved, and only from the past.",
        f"Order is lost, all weigh the same, and Python goes round {iterations:,} times for 64 sequences of 256.",
    )


def matmul(reading: Reading) -> Scene:
    """Tell of the average as one product, and of what dividing by the sum cannot do."""
    del reading
    ones = torch.ones(3, 3).tril()
    weights = ones / ones.sum(dim=1, keepdim=True)
    lines = [
        beside("  ones", matrix(ones), "@ x", matrix(X), "=", matrix(ones @ X), " sums of the past"),
        "",
        beside("  mean", matrix(weights), "@ x", matrix(X), "=", matrix(weights @ X), " the means above"),
        "",
        f"  but scores [2, −1, 3] / sum = {row(shares_of([2.0, -1.0, 3.0]))}: one weight is negative",
        f"      scores [1, −1, 0] / sum = {row(shares_of([1.0, -1.0, 0.0]))}: nothing to divide by",
    ]
    return Scene(
        "matmul",
        "\n".join(lines),
        "One product for every position at once; a zero in the weights is an edge that does not exist.",
        "The weights can only be even: scores of any sign would break them.",
    )


def softmax(reading: Reading) -> Scene:
    """Tell of −∞ and exp."""
    del reading
    scores = torch.tensor([2.0, -1.0, 3.0, 5.0])
    masked = torch.where(torch.arange(4) < 3, scores, -torch.inf)
    weights, zeros = weights_of(scores.repeat(4, 1))[2], weights_of(torch.zeros(4, 4))[2]
    lines = [
        f"  scores        {row(scores)}      the last one is the future",
        f"  −∞ for it     {row(masked)}",
        f"  exp           {row(masked.exp())}   sum {masked.exp().sum():.2f}",
        f"  / sum         {row(weights)}   positive, sum {weights.sum():.0f}, the future exactly 0",
        "",
        f"  all zeros →   {row(zeros)}   the average again",
    ]
    return Scene(
        "softmax",
        "\n".join(lines),
        "Scores may now be anything, and a higher score is a larger weight.",
        "They are still all zero: nothing says yet what they should be.",
    )
