"""What goes wrong with rules that have numbers: windows, prefixes and chunks, one off, halved, shifted, one-sided."""

from collections.abc import Iterator

from edgewise.checks.hypotheses.hypothesis import Hypothesis
from edgewise.graphs.rules import Chunks, Prefix, Window

__all__ = ["chunks_wrong", "prefix_wrong", "window_wrong"]


def window_wrong(graph: Window) -> Iterator[Hypothesis]:
    """Yield windows that are not quite `graph`."""
    n, ahead = graph.n, graph.ahead
    yield Hypothesis(
        "C1",
        f"window off by one: distance ≤ {n} is kept where distance < {n} was meant, so {n + 1} keys are visible",
        lambda at: (at.key > at.query - n - 1) & (at.key <= at.query + ahead),
    )
    if n > 1:
        yield Hypothesis(
            "C1",
            f"window off by one: only {n - 1} keys are visible, as if the query's own were not counted to the {n}",
            lambda at: (at.key > at.query - n + 1) & (at.key <= at.query + ahead),
        )
    if ahead:
        yield from _two_sided(n, ahead)
    yield Hypothesis(
        "C2",
        f"the window is not applied: keys more than {n - 1} back are visible",
        lambda at: at.key <= at.query + ahead,
    )
    if not ahead and n > 1:
        yield Hypothesis(
            "C2",
            f"the window has lost its causal side: |distance| < {n} looks ahead as far as back",
            lambda at: abs(at.query - at.key) < n,
        )
        yield Hypothesis(
            "C2",
            f"the window has lost its causal side and is one too wide: |distance| ≤ {n}",
            lambda at: abs(at.query - at.key) <= n,
        )
    yield Hypothesis(
        "A1" if not ahead else "C2",
        "the window's far edge is applied without its near one: every later key is visible",
        lambda at: at.key > at.query - n,
    )
    yield Hypothesis(
        "C3",
        "the window is joined to the causal mask by or instead of and",
        lambda at: (at.key <= at.query) | (abs(at.query - at.key) < n),
    )
    yield Hypothesis(
        "G1",
        "what lies within the window is hidden, and the rest of the past kept: the window is complemented",
        lambda at: (at.key <= at.query) & (at.key <= at.query - n),
    )
    yield Hypothesis(
        "C2",
        "the window is counted from the last key there is, not from each query",
        lambda at: (at.key >= at.there - n) & (at.key <= at.query + ahead),
    )
    yield Hypothesis(
        "C2",
        "blocks instead of a sliding window: the window begins anew at every multiple of its length",
        lambda at: (at.query // n == at.key // n) & (at.key <= at.query + ahead),
    )
    for other, word in ((2 * n, "doubled"), (n // 2, "halved"), (n // 2 + 1, "halved"), (n + 2, "two too wide")):
        if other > 0:
            yield Hypothesis(
                "C1",
                f"the window is {word}: {other} keys are visible instead of {n}",
                lambda at, other=other: (at.key > at.query - other) & (at.key <= at.query + ahead),
            )


def _two_sided(n: int, ahead: int) -> Iterator[Hypothesis]:
    for back, front in ((1, 1), (-1, -1), (0, 1), (0, -1), (-1, 0)):
        if n + back > 0 and ahead + front >= 0:
            yield Hypothesis(
                "C1",
                f"window off by one: {n - 1 + back} keys back and {ahead + front} ahead are visible, "
                f"where {n - 1} back and {ahead} ahead were meant",
                lambda at, n=n + back, ahead=ahead + front: (at.key > at.query - n) & (at.key <= at.query + ahead),
            )
    yield Hypothesis(
        "C2",
        "the window has lost the side that looks ahead",
        lambda at: (at.key > at.query - n) & (at.key <= at.query),
    )
    yield Hypothesis(
        "C2",
        "the window has lost the side that looks back",
        lambda at: (at.key >= at.query) & (at.key <= at.query + ahead),
    )
    yield Hypothesis("C2", "the window is not applied: every key is visible", lambda at: at.key < at.there)
    yield Hypothesis(
        "C2", "the window is not applied: the past is visible, nothing ahead", lambda at: at.key <= at.query
    )
    for half in (n // 2, n // 2 + 1, (n - 1) // 2):
        yield Hypothesis(
            "C1",
            f"the window is halved: {half} keys to each side are visible",
            lambda at, half=half: abs(at.query - at.key) <= half,
        )
    yield Hypothesis(
        "C1",
        f"the window is doubled: {2 * (n - 1)} keys to each side are visible",
        lambda at: abs(at.query - at.key) <= 2 * (n - 1),
    )


def prefix_wrong(graph: Prefix) -> Iterator[Hypothesis]:
    """Yield prefixes that are not quite `graph`."""
    n = graph.n
    for other in (n + 1, n - 1):
        yield Hypothesis(
            "C4",
            f"prefix boundary off by one: the first {other} keys are open to everyone instead of {n}",
            lambda at, other=other: (at.key <= at.query) | (at.key < other),
        )
    yield Hypothesis("C4", "the prefix is causal too: it does not read its own end", lambda at: at.key <= at.query)
    yield Hypothesis(
        "C4",
        "tokens of the prefix read beyond it: the prefix is applied to queries instead of keys",
        lambda at: (at.key <= at.query) | (at.query < n),
    )
    yield Hypothesis(
        "C3",
        "the prefix is joined to the causal mask by and instead of or",
        lambda at: (at.key <= at.query) & (at.key < n),
    )
    yield Hypothesis(
        "G1", "the prefix is complemented: all but the prefix is open", lambda at: (at.key <= at.query) | (at.key >= n)
    )
    yield Hypothesis(
        "C4",
        "only the prefix reads both ways, and what follows does not read it",
        lambda at: (at.query < n) & (at.key < n) | (at.query >= n) & (at.key >= n) & (at.key <= at.query),
    )
    yield Hypothesis(
        "C4",
        "what follows the prefix is not causal among itself",
        lambda at: (at.key < n) | (at.query >= n),
    )


def chunks_wrong(graph: Chunks) -> Iterator[Hypothesis]:
    """Yield chunks that are not quite `graph`."""
    n = graph.n
    for other in (n + 1, n - 1):
        if other > 0:
            yield Hypothesis(
                "C4",
                f"chunk boundary off by one: chunks are {other} long instead of {n}",
                lambda at, other=other: at.query // other == at.key // other,
            )
    for shift in (1, *range(n - 1, 1, -1)):
        if 0 < shift < n:
            yield Hypothesis(
                "C4",
                f"chunk boundary shifted: chunks begin {n - shift} late, or {shift} early",
                lambda at, shift=shift: (at.query + shift) // n == (at.key + shift) // n,
            )
    yield Hypothesis("C4", "each chunk reads all chunks before it as well", lambda at: at.key // n <= at.query // n)
    yield Hypothesis(
        "C4",
        "each chunk reads the one before it as well",
        lambda at: (at.key // n == at.query // n) | (at.key // n == at.query // n - 1),
    )
    yield Hypothesis(
        "C4",
        f"a sliding window of {n} instead of chunks of {n}",
        lambda at: abs(at.query - at.key) < n,
    )
    yield Hypothesis("C4", "only chunks before one's own are read", lambda at: at.key // n < at.query // n)
    for other in (2 * n, n // 2):
        if other > 0:
            yield Hypothesis(
                "C4",
                f"chunks are {other} long instead of {n}",
                lambda at, other=other: at.query // other == at.key // other,
            )
    yield Hypothesis(
        "C4",
        f"positions with the same remainder by {n} are grouped instead of neighbours",
        lambda at: at.query % n == at.key % n,
    )
    yield Hypothesis("C4", "the chunks are not applied", lambda at: at.key < at.there)
