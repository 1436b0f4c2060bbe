"""A graph drawn in the terminal: cell by cell where that fits, by shares of allowed cells where it does not."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from edgewise.errors import ShapeError
from edgewise.graphs.graph import Graph, whole_number
from edgewise.graphs.tiles import tiles

__all__ = ["draw"]

EDGE, NONE = "■", "·"
# From none to all: the share of a stretch of cells that are edges, in quarters.
SHADES = "·░▒▓█"
# Rows and columns drawn cell by cell, and rows of a picture by shares.
ROWS, WIDTH = 48, 12
# Sequences of a batch that are drawn.
SEQUENCES = 4


def draw(graph: Graph, query: int, key: int, *, width: int = 80, labels: Sequence[str] | None = None) -> str:
    """Return a picture of a graph: rows read, columns are read.

    A graph that fits is drawn cell by cell, ■ for an edge. A larger one is drawn by stretches of cells, `·░▒▓█` from no
    edge to all, with a line below that says how large a stretch is. Of a batch the first four sequences are drawn.

    Args:
        graph: the edges.
        query: number of rows.
        key: number of columns.
        width: characters in a line, at most; at least 12.
        labels: a name for each key (its token), written before the row that stands there.

    Raises:
        ArgumentError: `width` is too small.
        ShapeError: there is not one label for each key.

    Example:
        >>> from edgewise.graphs import causal
        >>> print(draw(causal(), 3, 3, labels=["a", "cat", "sat"]))
          a  ■ · ·
        cat  ■ ■ ·
        sat  ■ ■ ■
        >>> print(draw(causal(), 4096, 4096, width=16))
        ▓░··············
        ██▓░············
        ████▓░··········
        ██████▓░········
        ████████▓░······
        ██████████▓░····
        ████████████▓░··
        ██████████████▓░
        each character is 512 queries × 256 keys, ·░▒▓█ from none to all
    """
    whole_number(width, "width of a drawing", WIDTH)
    graph.check(query, key)
    if labels is not None and len(labels) != key:
        raise ShapeError(f"labels must name each of the {key} keys; got {len(labels)}")
    if not query or not key:
        return f"(nothing to draw: {query} queries, {key} keys)"
    sides = _sides(query, key, width // 4, labels)
    small = query <= ROWS and max(map(len, sides)) + 2 * key - 1 <= width
    pictures = _cells(graph, query, key, sides) if small else _shares(graph, query, key, width)
    if graph.batch is None:
        return pictures[0]
    titled = [f"sequence {place}\n{picture}" for place, picture in enumerate(pictures)]
    more = graph.batch - len(pictures)
    return "\n\n".join([*titled, f"… and {more} more"] if more else titled)


def _sides(query: int, key: int, width: int, labels: Sequence[str] | None) -> list[str]:
    """Return what stands before each row: the label of its position, cut to `width`, right-aligned."""
    if labels is None:
        return [""] * query
    at = [row + key - query for row in range(query)]
    plain = ["" if position < 0 else _visible(labels[position]) for position in at]
    cut = [one if len(one) <= width else one[: width - 1] + "…" for one in plain]
    widest = max(map(len, cut))
    return [f"{one:>{widest}}  " for one in cut]


def _visible(label: str) -> str:
    return label.encode("unicode_escape").decode("ascii") if not label.isprintable() else label


def _cells(graph: Graph, query: int, key: int, sides: Sequence[str]) -> list[str]:
    allowed = graph.dense(query, key).reshape(-1, query, key)[:SEQUENCES]
    return ["\n".join(map(_line, sides, sequence)) for sequence in allowed]


def _line(side: str, row: Bool[np.ndarray, " key"]) -> str:
    return side + " ".join(EDGE if cell else NONE for cell in row)


def _shares(graph: Graph, query: int, key: int, width: int) -> list[str]:
    # A character is about twice as high as wide: half as many lines as columns keep a square graph square.
    tall, wide = -(-query // (width // 2)), -(-key // width)
    sizes = f"{tall} {'query' if tall == 1 else 'queries'} × {wide} {'key' if wide == 1 else 'keys'}"
    note = f"each character is {sizes}, {SHADES} from none to all"
    heights, widths = (np.minimum(step, size - np.arange(0, size, step)) for size, step in ((query, tall), (key, wide)))
    shares = tiles(graph, query, key, tall, wide) / (heights[:, None] * widths)
    drawn = shares.reshape(-1, *shares.shape[-2:])[:SEQUENCES]
    return ["\n".join([*("".join(map(_shade, row)) for row in sequence), note]) for sequence in drawn]


def _shade(share: float) -> str:
    """Return none and all only for what is exactly none and all."""
    return SHADES[0] if share == 0 else SHADES[-1] if share == 1 else SHADES[1 + min(2, int(share * 3))]
