"""A bias on the scores (K5): it depends on the distance, falls with it, and by ALiBi's slopes where it is a line."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from edgewise.attention.positions import slopes

if TYPE_CHECKING:
    from edgewise.checks.lab.sites import Seen

__all__ = ["LEAST", "Bent", "bent", "bias_of", "uneven"]

ALIKE = 1e-3
LEAST = 1e-9
"""Steps that are smaller are rounding."""
HIDES = -16.0
"""What is lower is there to hide a key, not to say how far away it is."""


class Bent(NamedTuple):
    """What is wrong with a bias."""

    measured: str
    expected: str
    likely: str
    head: int | None = None
    doubtful: bool = False


def bias_of(seen: "Seen") -> tuple[Tensor, Tensor] | None:
    """Return a site's bias (heads, query, key), and where there are edges; None where it has none."""
    if seen.bias is None or seen.kind != "self" or seen.query.shape[2] != seen.key.shape[2]:
        return None
    shape = (seen.heads, seen.query.shape[2], seen.key.shape[2])
    return seen.bias[0].double().expand(shape), seen.allowed[0].expand(shape)


def bent(bias: Tensor, allowed: Tensor, *, whole: bool = True) -> Bent | None:
    """Return what is wrong with a bias; what is added to a whole row counts for nothing.

    Args:
        bias: (heads, query, key)
        allowed: bool (heads, query, key)
        whole: whether it is the bias as it was given, and not what weights tell of it.
    """
    steps, there, size = _steps(bias, allowed)
    if size < LEAST:
        allowed = allowed & (bias > HIDES)
        rows = bias.masked_fill(~allowed | ~bias.isfinite(), 0)
        if not whole or not bool(there.any()) or float(rows.amax() - rows.amin()) < LEAST:
            return None
        return Bent(
            "the bias of a query is the same for all its keys, so that it changes nothing",
            "a bias that falls with the distance",
            "it is made of the query's position, in place of the distance of query and key",
        )
    off = uneven(bias, allowed)
    if off is not None:
        return off
    past = there & torch.ones(steps.shape[1:], dtype=torch.bool).tril(-1)
    lines = _lines(steps, past)
    return None if lines is None else _sloped(lines)


def uneven(bias: Tensor, allowed: Tensor) -> Bent | None:
    """Return what is wrong where a bias (heads, query, key) differs between pairs at the same distance."""
    steps, there, size = _steps(bias, allowed)
    off = _by_distance(steps, there)
    if size < LEAST or off <= ALIKE * size:
        return None
    return Bent(
        f"the bias differs by {off:.3g} between pairs at the same distance",
        "the same for the same distance",
        "it is made of positions, or counted from the wrong end, in place of the distance of query and key",
        doubtful=True,
    )


def _steps(bias: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor, float]:
    """How much a bias rises from key to key, where both may be read, and the largest step."""
    steps = bias[..., 1:] - bias[..., :-1]
    allowed = allowed & (bias > HIDES)
    there = allowed[..., 1:] & allowed[..., :-1] & steps.isfinite()
    return steps, there, float(steps.masked_fill(~there, 0).abs().max()) if bool(there.any()) else 0.0


def _by_distance(steps: Tensor, there: Tensor) -> float:
    """How much steps from key to key differ between queries, at the same distance."""
    worst = 0.0
    for distance in range(1 - steps.shape[1], steps.shape[2]):
        band, seen = steps.diagonal(distance, dim1=1, dim2=2), there.diagonal(distance, dim1=1, dim2=2)
        if not bool(seen.any()):
            continue
        high = band.masked_fill(~seen, -torch.inf).amax(-1)
        low = band.masked_fill(~seen, torch.inf).amin(-1)
        spread = (high - low)[seen.any(-1)]
        worst = max(worst, float(spread.max()))
    return worst


def _lines(steps: Tensor, past: Tensor) -> list[float] | None:
    """Each head's slope, how much a key gains by being one nearer; None where it is no line."""
    found: list[float] = []
    for head in range(steps.shape[0]):
        values = steps[head][past[head]]
        if values.numel() < 3 or float(values.max() - values.min()) > ALIKE * float(values.abs().max()):
            return None
        found.append(float(values.mean()))
    return found


def _sloped(got: list[float]) -> Bent | None:
    many = len(got)
    wanted = slopes(many)
    plain = [2 ** (-8 * (head + 1) / many) for head in range(many)]
    if _same(got, wanted) or _same(got, plain):
        return None
    told, meant = _told(got), _told(wanted)
    if all(one < 0 for one in got):
        return Bent(
            f"the bias rises with the distance, by {_told([-one for one in got])}", f"it falls, by {meant}", "its sign"
        )
    if many > 1 and _same(sorted(got), sorted(wanted)):
        head = next(at for at, (one, other) in enumerate(zip(got, wanted, strict=True)) if not _same([one], [other]))
        return Bent(f"slopes {told}", meant, "the slopes of the heads are in another order", head)
    ratios = [one / other for one, other in zip(got, wanted, strict=True)]
    if many > 1 and _same(ratios, [ratios[0]] * many):
        return Bent(
            f"slopes {told}", meant, f"all slopes are multiplied with {ratios[0]:.4g}, as if scaled with the scores"
        )
    if many > 1 and _same(got, [got[0]] * many):
        return Bent(f"one slope for all heads, {got[0]:.4g}", meant, "each head is to have its own slope")
    series = got[0] > 0 and _same(got, [got[0] ** (head + 1) for head in range(many)])
    likely = "the slopes are those of another number of heads" if series else "the slopes are not ALiBi's series"
    return Bent(f"slopes {told}", meant, likely, doubtful=many == 1)


def _same(one: list[float], other: list[float]) -> bool:
    return all(abs(a - b) <= ALIKE * max(abs(a), abs(b)) for a, b in zip(one, other, strict=True))


def _told(values: list[float]) -> str:
    return ", ".join(f"{one:.4g}" for one in values)
