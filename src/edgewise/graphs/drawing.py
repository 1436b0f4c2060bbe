"""A graph drawn in the terminal: cell by cell where that fits, by shares of allowed cells where it does not."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float64

from edgewise.errors import ShapeError
from edgewise.graphs.graph import Graph, whole_number
from edgewise.graphs.ranges import Ranges

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
    # A character is about twice as high as wide: half as many lines as columns keep the diagonal at 45 degrees.
    tall, wide = max(1, -(-query // max(1, width // 2))), max(1, -(-key // width))
    if query >= width // 2 and key >= width:
        wide = tall = max(tall, wide)
        wide = max(wide // 2, -(-key // width))
    sizes = f"{tall} {'query' if tall == 1 else 'queries'} × {wide} {'key' if wide == 1 else 'keys'}"
    note = f"each character is {sizes}, {SHADES} from none to all"
    sequences = range(min(SEQUENCES, graph.batch or 1))
    shares = np.zeros((len(sequences), -(-query // tall), -(-key // wide)))
    for first, part in graph.parts(query, key):
        for sequence in sequences:
            _add(shares[sequence], part.sequence(sequence), first, tall, wide)
    shares /= np.minimum(tall, query - np.arange(0, query, tall))[:, None] * np.minimum(
        wide, key - np.arange(0, key, wide)
    )
    return ["\n".join([*("".join(map(_shade, row)) for row in sequence), note]) for sequence in shares]


def _shade(share: float) -> str:
    """Return none and all only for what is exactly none and all."""
    return SHADES[0] if share == 0 else SHADES[-1] if share == 1 else SHADES[1 + min(2, int(share * 3))]


def _add(counts: Float64[np.ndarray, "lines columns"], part: Ranges, first: int, tall: int, wide: int) -> None:
    """Add the edges of some rows to the stretches in which they lie.

    The edges before column c of a run are those of a ramp that begins at its start less those of one at its stop: so
    the starts and stops are summed by column, once, and no run is walked along.
    """
    line = np.broadcast_to((first + np.arange(part.rows)) // tall, part.start.shape).reshape(-1)
    lines, columns = counts.shape
    ramps = np.zeros((lines, columns + 1))
    edges = np.minimum(np.arange(columns + 1) * wide, part.key)
    for sign, begin in ((1, part.start), (-1, part.stop)):
        begin = begin.reshape(-1)
        place = line * (columns + 1) + np.minimum(-(-begin // wide), columns)
        size = lines * (columns + 1)
        many = np.bincount(place, minlength=size).reshape(lines, -1).cumsum(1)
        total = np.bincount(place, weights=begin.astype(np.float64), minlength=size).reshape(lines, -1).cumsum(1)
        ramps += sign * (many * edges - total)
    counts += np.diff(ramps, axis=1)
