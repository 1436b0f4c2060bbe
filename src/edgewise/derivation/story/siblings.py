"""Three rungs beside the way: no mask, two sequences, the other direction of normalising."""

import torch

from edgewise.attention import Along, reference
from edgewise.derivation.claims.direction import MATRIX, shared
from edgewise.derivation.reading import Reading
from edgewise.derivation.story.layout import beside, matrix, row
from edgewise.derivation.story.scene import Scene
from edgewise.graphs import causal, full

__all__ = ["batchnorm", "cross", "encoder"]


def encoder(reading: Reading) -> Scene:
    """Tell of the line that is gone."""
    del reading
    decoder, whole = (
        "\n".join("".join("■ " if edge else "· " for edge in line) for line in graph.dense(4, 4))
        for graph in (causal(), full())
    )
    return Scene(
        "encoder",
        beside("  with the line", decoder, "  without", whole, "  ■ row reads column"),
        "Every position sees the whole: right for a sentence that is all there already.",
        "As a writer it cheats: it copies the answer from its right, where there is none once it writes.",
    )


def cross(reading: Reading) -> Scene:
    """Tell of two sequences."""
    del reading
    draw = torch.Generator().manual_seed(0)
    asks, read = torch.randn(2, 4, generator=draw), torch.randn(5, 4, generator=draw)
    weights = reference(asks, read, read).weights
    return Scene(
        "cross",
        beside("  weights of 2 queries over 5 keys", matrix(weights)),
        "One sequence asks, another is read: a translation looks at its source, a question at its picture.",
        "",
    )


def batchnorm(reading: Reading) -> Scene:
    """Tell of rows and columns."""
    del reading
    directions: tuple[tuple[Along, str], ...] = (("keys", "by row"), ("queries", "by column"), ("all", "as a whole"))
    thirds = [f"{name:<10} third row {row(shared(along)[2], 3)}" for along, name in directions]
    return Scene(
        "batchnorm",
        "  Normalising means nothing until somebody says who shares out to whom:\n\n"
        + beside("  ", matrix(MATRIX), "\n".join(thirds)),
        "",
        "Down the columns a sequence depends on its companions in the batch, and on its own future.",
    )
