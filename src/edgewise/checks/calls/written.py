"""A call of a target written out as Python: what is handed over, and where in what comes back the numbers are."""

from typing import Any

import torch
from torch import Tensor

from edgewise.checks.calls.arguments import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.handing import handed
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Subject

__all__ = ["runs", "shown"]

LONGEST = 200
"""Numbers of a tensor that is written out."""


def runs(subject: Subject, given: Given, route: Route, name: str = "run") -> str | None:
    """Return a function of one argument that calls the target on a route; None where it cannot be written in few words.

    Args:
        subject: how the target is called.
        given: what it reads; masks and positions are written out.
        route: which way.
        name: of the function.
    """
    cast = route.dtype is not None and route.dtype != str(subject.dtype).removeprefix("torch.")
    if route.training or not route.contiguous or (cast and subject.module is None) or subject.row_by_row:
        return None
    try:
        body = _stepwise(subject, route) if route.cached else _whole(subject, given, route)
    except Refused:
        return None
    if body is None:
        return None
    lines: list[str] = []
    if route.backend is not None:
        lines.append(f"model.set_attn_implementation({route.backend!r})")
    if cast:
        body = body.replace("model", "cast", 1) if not route.cached else body.replace(" model", " cast")
        lines += [f"cast = copy.deepcopy(model).to(torch.{route.dtype})"]
        x = f"x.to(torch.{route.dtype})" if subject.reads in ("floats", "qkv") else "x"
        body = body.replace("(x", f"({x}", 1)
    return "\n".join([*lines, "", "@torch.no_grad()", f"def {name}(x):", *(f"    {one}" for one in body.splitlines())])


def _whole(subject: Subject, given: Given, route: Route) -> str | None:
    call = _call(subject, given, route)
    return None if call is None else f"return {call}{_path(subject)}"


def _stepwise(subject: Subject, route: Route) -> str | None:
    caching = subject.caching
    first = {"": "None", "list": "[]", "dict": "{}"}.get(caching.first) if caching is not None else None
    if caching is None or first is None or caching.returned is None or route.mask != "none" or subject.mapping:
        return None
    axis = 1 if subject.layout != "time first" else 0
    cut = "x[:, start:stop]" if axis else "x[start:stop]"
    named = {**caching.asked, **dict(route.switches)}
    if subject.weights is not None and route.weights is not None:
        named[subject.weights.name] = route.weights
    told = "".join(f", {name}={value!r}" for name, value in named.items())
    method = "" if caching.method in ("forward", "") else f".{caching.method}"
    ends = [sum(route.cached[: place + 1]) for place in range(len(route.cached))]
    spans = ", ".join(f"({start}, {stop})" for start, stop in zip([0, *ends], ends, strict=False))
    return "\n".join(
        [
            f"outs, cache = [], {first}",
            f"for start, stop in [{spans}]:",
            f"    made = model{method}({cut}, {caching.name}=cache{told})",
            f"    outs.append(made{_path(subject)})",
            f"    cache = made{''.join(_step(one, subject) for one in caching.returned)}",
            f"return torch.cat(outs, dim={axis})",
        ]
    )


def _call(subject: Subject, given: Given, route: Route) -> str | None:
    firsts, named = handed(subject, given, route)
    if not subject.positional:
        named = {name: value for name, value in named.items() if name not in subject.main}
    told: list[str] = []
    if subject.reads == "qkv":
        told = ["*x"] if len(firsts) == 3 else []
    elif subject.positional:
        told = ["x"] * len(firsts) if all(one is firsts[0] for one in firsts) else []
    else:
        told = [f"{name}=x" for name in subject.main]
    for name, value in named.items():
        text = shown(value)
        if text is None:
            return None
        told.append(f"{name}={text}")
    if not told:
        return None
    method = "" if subject.method in ("forward", "") else f".{subject.method}"
    said = ", ".join(told)
    return f"model{method}(dict({said}))" if subject.mapping else f"model{method}({said})"


def shown(value: Any) -> str | None:
    """Return Python that makes a value; None where it would be long."""
    if not isinstance(value, Tensor):
        return repr(value)
    if value.numel() > LONGEST:
        return None
    if value.numel() > 4 and bool((value == value.flatten()[0]).all()):
        return f"torch.full({tuple(value.shape)}, {value.flatten()[0].item()}, dtype={value.dtype})"
    numbers = str(value.tolist()).replace("-inf", "float('-inf')")
    plain = value.dtype in (torch.bool, torch.int64)
    return f"torch.tensor({numbers})" if plain else f"torch.tensor({numbers}, dtype={value.dtype})"


def _path(subject: Subject) -> str:
    return "".join(_step(one, subject) for one in subject.output or ())


def _step(one: str | int, subject: Subject) -> str:
    return f".{one}" if isinstance(one, str) and subject.library == "transformers" else f"[{one!r}]"
