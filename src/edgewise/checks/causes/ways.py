"""Routes compared: which choices one makes, which routes lie on the way to it, and how to say several in few words."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from edgewise.checks.calls.route import Route

__all__ = ["brief", "choices", "named", "nearness", "plainer"]

_INPUT = ("mask", "batch", "packed")
"""What a route says of the input, and not of the way that the code takes."""


def choices(route: Route) -> tuple[int, int, str]:
    """Return a key that puts plainer routes first: fewer choices, then smaller ones."""
    return len(_made(route)), len(route.cached), str(route)


def nearness(one: Route, other: Route) -> int | None:
    """Return how much of `other` is chosen by `one` already; None where `one` chooses what `other` does not.

    A mask of ones lies on the way to a mask with padding, padding on one side near padding on the other, and one way of
    feeding a cache near another: they count half.
    """
    first, second = _made(one), _made(other)
    near = 0
    for name, chosen in first.items():
        got = second.get(name)
        if got == chosen:
            near += 2
        elif (name == "cached" and got) or (name == "mask" and got in ("left", "right")):
            near += 1
        else:
            return None
    return near


def plainer(route: Route) -> tuple[Route, ...]:
    """Return what a route is compared with: the same on the plain way, and each choice undone alone."""
    undone: dict[str, Any] = {name: _PLAIN[name] for name in _made(route) if name not in _INPUT}
    alone = [replace(route, **{name: value}) for name, value in undone.items()]
    if route.mask in ("none", "ones"):  # which must give the same
        alone.append(replace(route, mask="ones" if route.mask == "none" else "none"))
    return tuple(dict.fromkeys([replace(route, **undone), *alone]))


def brief(route: Route) -> str:
    """Return a route by what it chooses.

    Example:
        >>> brief(Route(weights=True, mask="left")), brief(Route())
        ('weights asked for · mask=left', 'the plain route')
    """
    words = ["weights asked for"] * (route.weights is True)
    words += [f"{name}={value}" for name, value in route.switches]
    words += [f"mask={route.mask}"] * (route.mask != _PLAIN["mask"])
    words += [f"batch of {'one' if route.batch == 1 else route.batch}"] * (route.batch != _PLAIN["batch"])
    words += [f"cached {'+'.join(map(str, route.cached))}"] * bool(route.cached)
    words += [] if route.places else ["positions left out"]
    words += [one for one in (route.backend, route.dtype) if one is not None]
    words += ["strided"] * (not route.contiguous) + ["training"] * route.training + ["packed"] * route.packed
    return " · ".join(words) or "the plain route"


def named(routes: Sequence[Route], limit: int = 3) -> str:
    """Return several routes in a few words.

    Example:
        >>> named([Route(weights=True), Route(mask="ones", batch=1)], 1)
        'weights asked for; and 1 more'
    """
    told = [brief(route) for route in routes]
    more = len(told) - limit
    return "; ".join(told) if more <= 0 else "; ".join([*told[:limit], f"and {more} more"])


_PLAIN: dict[str, Any] = {field.name: field.default for field in fields(Route)}


def _made(route: Route) -> dict[str, Any]:
    """The choices of a route that are not the default; not to ask for weights is one, as they would be without it."""
    made = {name: getattr(route, name) for name, usual in _PLAIN.items() if getattr(route, name) != usual}
    if made.get("weights") is False:
        del made["weights"]
    return made
