"""The head: places, queries and keys, values, the scale; the hand-worked numbers end in [8.87, 1.13]."""

import torch

from edgewise.derivation.claims.scale import SCORES, WIDTHS, score_variance
from edgewise.derivation.claims.value import worked_head
from edgewise.derivation.reading import Reading
from edgewise.derivation.story.layout import beside, matrix, row
from edgewise.derivation.story.scene import Scene
from edgewise.derivation.worked import BAG, KEY, ONE_HOT, PLACES, QUERY, VALUE

__all__ = ["positions", "scale", "scores", "values"]


def positions(reading: Reading) -> Scene:
    """Tell of dog and god."""
    del reading
    places = torch.tensor(PLACES[:3])
    bags = {word: torch.tensor([BAG[one] for one in word]) for word in ("dog", "god")}
    lines = [f"  {word}  mean {row(rows.mean(dim=0))}" for word, rows in bags.items()]
    lines[1] += "   the same: a sum knows no order"
    lines += ["", "  with [0.1, 0], [0.2, 0], [0.3, 0] added for places 0, 1, 2:"]
    lines += [f"  {word}  " + "  ".join(map(row, rows + places)) for word, rows in bags.items()]
    return Scene(
        "positions",
        "\n".join(lines),
        "x says who and where: the d of dog is not the d of god.",
        "The weights do not look at it yet. A learned table ends with its last row.",
    )


def scores(reading: Reading) -> Scene:
    """Tell of who wants to look at whom."""
    del reading
    stages = worked_head(ONE_HOT)
    query, key = torch.tensor(QUERY).T, torch.tensor(KEY).T
    lines = [
        beside("  queries", matrix(query), "  keys", matrix(key), "  rows: h o u, each one-hot", gap=" "),
        "",
        beside("  query · key", matrix(stages.raw), "→ mask, softmax →", matrix(stages.weights), gap=" "),
        "",
        f"  u looks at h: {stages.raw[2, 0]:.1f}    h looks at u: {stages.raw[0, 2]:.1f}    interest can be one-way",
    ]
    return Scene(
        "scores",
        "\n".join(lines),
        "This is the one line: an average became attention. Mask, softmax and blend did not move.",
        "What is handed over is the thing itself, label and contents in one.",
    )


def values(reading: Reading) -> Scene:
    """Tell of what goes home."""
    del reading
    stages = worked_head(ONE_HOT)
    lines = [
        beside("  weights", matrix(stages.weights), "@ values", matrix(torch.tensor(VALUE).T), "=", matrix(stages.out)),
        "",
        "  u: "
        + " + ".join(f"{w:.2f}·{row(v)}" for w, v in zip(stages.weights[2], torch.tensor(VALUE).T, strict=True))
        + f" = {row(stages.out[2])}",
    ]
    return Scene(
        "values",
        "\n".join(lines),
        "u has taken home what h holds. Other values would move no weight, only what comes out.",
        "The wider the keys, the larger the scores, and the nearer softmax comes to reading one token alone.",
    )


def scale(reading: Reading) -> Scene:
    """Tell of the variance of a dot product."""
    del reading
    table = [
        "  width                         " + "".join(f"{width:>9}" for width in WIDTHS),
        "  variance of query · key       " + "".join(f"{score_variance(width):>9.2f}" for width in WIDTHS),
        "  the same, divided by √width   " + "".join(f"{score_variance(width, width**-0.5):>9.3f}" for width in WIDTHS),
        "",
    ]
    table.append(f"  s = {row(SCORES, 1)}")
    said = ("nearly even", "unscaled at width 16", "at width 64: almost one-hot")
    table += [
        f"  softmax({factor}·s) = {row((SCORES * factor).softmax(dim=0)):<32} {why}"
        for factor, why in zip((1, 4, 8), said, strict=True)
    ]
    return Scene(
        "scale",
        "\n".join(table),
        "Scores keep variance 1 at any width, rows stay soft, gradients stay alive. This is attention.",
        "It gathers; it does not yet think about what it has gathered.",
    )
