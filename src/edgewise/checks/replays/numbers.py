"""Replays of numbers that are wrong: sums of weights, scale, which heads read which, padding that is counted."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.written import runs
from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["numbers"]


def numbers(seen: Observation, lab: "Lab") -> Iterator[str]:
    """Yield Python that may show what was seen; it knows `torch` and `model`, and fails with AssertionError."""
    given = lab.given(seen.route)
    if lab.subject.reads == "qkv" and lab.subject.layout == "heads second" and given.key is not None:
        run = runs(lab.subject, given, seen.route)
        if run is not None:
            yield from (f"{run}\n\n\n{body}" for body in _of_function(seen, lab, given))
    elif seen.property == "position" and seen.route.mask in ("left", "right"):
        yield from _counted(seen, lab)


def _of_function(seen: Observation, lab: "Lab", given: Given) -> Iterator[str]:
    assert given.key is not None
    dtype, query, key = lab.subject.dtype, tuple(given.tokens.shape), tuple(given.key.shape)
    heads, groups, keys, width = query[1], key[1], key[2], query[3]
    if seen.property == "normalisation":
        yield (
            f"query, key = torch.randn({query}, dtype={dtype}), torch.randn({key}, dtype={dtype})\n"
            "out = run([query, key, torch.ones_like(key)])  # of values that are all 1, any mean is 1\n"
            "torch.testing.assert_close(out, torch.ones_like(out))"
        )
    if seen.property == "head-mapping":
        # Only with several key heads, and fewer than query heads, can a query head read the wrong one.
        shared = [shape for shape in lab.subject.shapes if 1 < shape.groups < shape.heads]
        for shape in shared[:1]:
            heads, groups, width = shape.heads, shape.groups, shape.width
            query, key = (1, heads, shape.query, width), (1, groups, shape.key, width)
        yield (
            f"query, key = torch.randn({query}, dtype={dtype}), torch.randn({key}, dtype={dtype})\n"
            "value, other = key.clone(), key.clone()\n"
            "other[:, 0] += 1  # key head 0\n"
            "change = (run([query, key, other]) - run([query, key, value])).abs().amax((0, 2, 3))\n"
            "moved = change.nonzero()[:, 0].tolist()\n"
            f'assert moved == {list(range(heads // groups))}, f"key head 0 moves query heads {{moved}}"'
        )
    if seen.property == "scale":
        wanted = width**-0.5 if lab.declared.scale is None else lab.declared.scale
        yield (
            f"query, key = torch.ones({query}, dtype={dtype}), torch.zeros({key}, dtype={dtype})\n"
            f"key[:, :, 0] = 0.5  # its product with each query is {width / 2:g}, that of the others 0\n"
            "weight = run([query, key, 2 * key])[0, 0, -1, 0]  # the last query's, of key 0\n"
            f"scale = (torch.log(weight / (1 - weight) * {keys - 1}) / {width / 2:g}).item()\n"
            f'assert abs(scale / {wanted:.6g} - 1) < 1e-3, f"query · key is multiplied with {{scale:.4g}}"'
        )


def _counted(seen: Observation, lab: "Lab") -> Iterator[str]:
    """The same tokens with pads and without."""
    subject, route = lab.subject, replace(seen.route, batch=1)
    padded = lab.given(route)
    if padded.keep is None or subject.layout == "time first" or subject.reads not in ("ids", "floats"):
        return
    pads, tokens = int((~padded.keep[0]).sum()), padded.keep.shape[1]
    whole = replace(lab.plain, batch=1)
    run, alone = (
        runs(subject, padded, route, "padded"),
        runs(subject, lab.given(whole, tokens - pads), whole, "alone"),
    )
    if run is None or alone is None:
        return
    real = f"[:, {pads}:]" if route.mask == "left" else f"[:, :{tokens - pads}]"
    if subject.reads == "ids":
        made = f"torch.randint({min(40, (subject.vocabulary or 2) // 2)}, {subject.vocabulary}, (1, {tokens}))"
    else:
        made = f"torch.randn({tuple(padded.tokens.shape)}, dtype={subject.dtype})"
    said = f"# {pads} of {tokens} tokens are padding"
    yield f"{run}\n\n{alone}\n\n\nx = {made}  {said}\ntorch.testing.assert_close(padded(x){real}, alone(x{real}))"
