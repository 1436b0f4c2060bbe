"""A factor of scores that was not expected, put into words: what it is made of, and which mistake gives that."""

from dataclasses import dataclass
from math import sqrt

__all__ = ["Sizes", "alike", "cause"]

CLOSE = 2e-3
"""Two factors that differ by less than this share are the same."""


@dataclass(frozen=True)
class Sizes:
    """What a factor may have been made of."""

    width: int
    """Numbers of a head."""
    heads: int
    query: int
    key: int
    batch: int
    channels: int | None = None
    """Of the layer's input."""


def alike(one: float, other: float) -> bool:
    """Return whether two factors are the same up to rounding."""
    return abs(one - other) <= CLOSE * max(abs(one), abs(other))


def cause(got: float, wanted: float, sizes: Sizes, steps: list[float], *, varies: bool = False) -> tuple[str, str]:
    """Return the kind of a wrong factor, and its likely cause in words.

    Args:
        got: what query · key is multiplied with.
        wanted: what it should be multiplied with.
        sizes: what it may be made of.
        steps: the numbers that queries, keys or scores were seen to be multiplied with, one after another.
        varies: whether it changes with the number of tokens.
    """
    if varies:
        return "I1", _of_length(got, sizes)
    twice = "I2", f"scaled twice: {got:.4g} is the square of {wanted:.4g} (or the root of the width is missing)"
    if alike(got, wanted**2) and (_several(steps, wanted) or not _by_model(got, sizes)):
        return twice
    if alike(got, 1):
        return "I3", "scores are not scaled at all"
    if alike(got, 1 / wanted):
        return "I3", "inverse: multiplied where it should be divided"
    if alike(got, 1 / wanted**2):
        return "I3", "inverse and squared: multiplied with the width"
    if _by_model(got, sizes):
        many = f"√heads = √{sizes.heads}" if alike(wanted / got, sqrt(sizes.heads)) else "the root of the heads"
        also = "; or scaled twice" if alike(got, wanted**2) else ""
        return "I1", f"1/√(the model's width) in place of 1/√(the head's width): smaller by {many}{also}"
    if alike(got, sqrt(wanted)):
        return "I3", "the root of what it should be: only one of query and key was given its half of the scale"
    for name, many in _others(sizes):
        if many > 1 and alike(got, many**-0.5):
            return "I1", f"1/√{many}: {name} in place of the head's width"
    return "I3", f"a constant, or made of something else: {got / wanted:.4g} of what it should be"


def _of_length(got: float, sizes: Sizes) -> str:
    for name, many in (("keys", sizes.key), ("queries", sizes.query)):
        for words, value in (("1/√", many**-0.5), ("1/", 1 / many), ("", float(many)), ("√", sqrt(many))):
            if alike(got, value):
                return f"{words}{many}, of the number of {name}, in place of the head's width"
    return "it changes with the number of tokens"


def _several(steps: list[float], wanted: float) -> bool:
    """Whether the right factor was seen to be used; a factor that was made of the model's width would be used alone."""
    return any(alike(abs(one), wanted) for one in steps)


def _by_model(got: float, sizes: Sizes) -> bool:
    model = {sizes.heads * sizes.width, sizes.channels or 0}
    return any(one > sizes.width and alike(got, one**-0.5) for one in model)


def _others(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    return (
        ("the number of heads", sizes.heads),
        ("the input's width", sizes.channels or 0),
        ("half the head's width", sizes.width // 2),
        ("twice the head's width", sizes.width * 2),
        ("the number of sequences", sizes.batch),
    )
