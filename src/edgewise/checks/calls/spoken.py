"""How a target is called, in words, and as Python."""

from typing import Any

from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Argument, Subject

__all__ = ["code", "spoken"]


def spoken(subject: Subject) -> str:
    """A few lines that a stranger can read."""
    owner = f"{subject.name}.{subject.method}" if subject.method not in ("", "forward") else subject.name
    opened, closed = ("{", "}") if subject.mapping else ("", "")
    lines = [f"called as {owner}({opened}{', '.join(_arguments(subject))}{closed})"]
    lines += _sizes(subject)
    lines += _ways(subject)
    lines += list(subject.notes)
    return "\n".join(lines)


def _arguments(subject: Subject) -> list[str]:
    axes = {
        "ids": f"ids below {subject.vocabulary} (batch, tokens)",
        "floats": f"floats (batch, tokens, {subject.width})",
        "pixels": f"pixels (batch, {', '.join(map(str, subject.sizes))})",
        "features": f"features (batch, {', '.join(map(str, subject.sizes))})",
    }
    if subject.layout == "time first":
        axes["floats"] = f"floats (tokens, batch, {subject.width})"
        axes["ids"] = f"ids below {subject.vocabulary} (tokens, batch)"
    if subject.reads == "qkv":
        shape = subject.shapes[0]
        heads = {"heads second": "batch, heads, tokens, width", "heads third": "batch, tokens, heads, width"}
        layout = heads.get(subject.layout, "batch, tokens, width")
        found = [f"{', '.join(subject.main)}=floats ({layout})", f"{shape.heads} heads of {shape.width}"]
        found = [", ".join(found)]
    else:
        found = [f"{'='.join(subject.main)}={axes[subject.reads]}"]
    said = (subject.mask, subject.square_mask, subject.positions, subject.documents)
    found += [str(one) for one in said if one is not None]
    if subject.memory is not None:
        many = "/".join(map(str, dict.fromkeys(subject.memory_widths))) or subject.memory_width or subject.width
        sizes = subject.memory_sizes or ("keys", many)
        what = "ids (batch, keys)" if subject.memory_reads == "ids" else f"floats (batch, {', '.join(map(str, sizes))})"
        found.append(f"{'='.join((subject.memory.name, *subject.memory.also))}={what}, the memory")
        found += [f"{subject.memory_mask} of the memory"] if subject.memory_mask is not None else []
    if subject.targets:
        found.append(f"{subject.targets}=the same tokens, without which it answers for the last one alone")
    return found + [f"{name}={_short(value)}" for name, value in subject.fixed.items()]


def _sizes(subject: Subject) -> list[str]:
    heads = f"{subject.heads} heads" if subject.heads else ""
    if heads and subject.groups and subject.groups != subject.heads:
        heads += f" that share {subject.groups} key heads"
    dtype = str(subject.dtype).removeprefix("torch.")
    words = [heads, dtype, "" if subject.device.type == "cpu" else str(subject.device)]
    words.append(f"at most {subject.longest} tokens" if subject.longest else "")
    return [", ".join(one for one in words if one)]


def _ways(subject: Subject) -> list[str]:
    lines: list[str] = []
    if subject.weights is not None:
        where = "" if subject.weights_at is not None else ", and are not returned"
        lines.append(f"weights are asked for by {subject.weights.name}=True{where}")
    caching = subject.caching
    if caching is not None:
        lines.append(f"goes on from {_from(subject)}")
    lines += [f"ways to choose: {name}={' or '.join(map(str, values))}" for name, values in subject.switches]
    if subject.backends:
        lines.append(f"attention implementations: {', '.join(subject.backends)}")
    if subject.causal_flag is not None:
        lines.append(f"{subject.causal_flag.name}=True asks for causal attention; left as it is")
    if subject.pooled:
        lines.append("answers once for a whole sequence: who reads whom is seen for all tokens together")
    if subject.random:
        lines.append("draws random numbers in evaluation mode")
    if subject.mutates:
        lines.append(f"writes into what it is given: {', '.join(subject.mutates)}")
    if not subject.finite:
        lines.append("answers NaN to a plain input")
    return lines


def _from(subject: Subject) -> str:
    caching = subject.caching
    assert caching is not None
    if not caching.name:
        return "what it keeps itself, told where it stands"
    method = "" if caching.method == subject.method else f" of {caching.method}"
    first = {"": "None", "list": "[]", "dict": "{}", "transformers": "DynamicCache()"}.get(caching.first, caching.first)
    asked = "".join(f", {name}={value}" for name, value in caching.asked.items())
    method += ", one token at a time" if caching.single else ""
    back = "changed in place" if caching.returned is None else f"returned as {'.'.join(map(str, caching.returned))}"
    return f"{caching.name}{method} (first {first}, {back}{asked})"


def code(subject: Subject, route: Route | None, x: str, model: str) -> str:
    """The expression that calls it on a route."""
    route = Route() if route is None else route
    callee = model if subject.method in ("", "forward") else f"{model}.{subject.method}"
    many = len(subject.main)
    firsts = [x] * many if subject.reads != "qkv" else ["query", "key", "value"]
    if not subject.positional:
        firsts = [f"{name}={one}" for name, one in zip(subject.main, firsts, strict=True)]
    named: dict[str, str] = {name: _short(value) for name, value in subject.fixed.items()}
    if subject.memory is not None:
        names = (subject.memory.name, *subject.memory.also)
        pieces = [f"memory[..., :{width}]" for width in subject.memory_widths] or ["memory"] * len(names)
        named |= dict(zip(names, pieces, strict=True))
    named |= _masks(subject, route)
    if subject.weights is not None and route.weights is not None:
        named[subject.weights.name] = str(route.weights)
        named |= {name: str(value) for name, value in subject.weights_asked.items()} if route.weights else {}
    if subject.targets:
        named[subject.targets] = x
    if route.cached and subject.caching is not None:
        callee = model if subject.caching.method in ("", "forward") else f"{model}.{subject.caching.method}"
        named |= {name: str(value) for name, value in subject.caching.asked.items()}
        named |= {subject.caching.name: "cache"} if subject.caching.name else {}
    elif subject.cache is not None and subject.cache.required:
        named[subject.cache.name] = "None"
    named |= {name: repr(value) for name, value in route.switches}
    if subject.layout == "time first":
        firsts = [f"{one}.transpose(0, 1)" for one in firsts]
    told = ", ".join([*firsts, *(f"{name}={value}" for name, value in named.items())])
    return f"{callee}(dict({told}))" if subject.mapping else f"{callee}({told})"


def _masks(subject: Subject, route: Route) -> dict[str, str]:
    named: dict[str, str] = {}
    mask, places = subject.mask, subject.positions
    if mask is not None and (route.mask != "none" or mask.required):
        named[mask.name] = _mask(mask)
    if places is not None and (
        places.required or places.always or route.packed or (route.cached and route.places) or route.mask == "left"
    ):
        named[places.name] = "positions"
    if subject.documents is not None and (route.packed or subject.documents.required):
        named[subject.documents.name] = "documents"
    return named


def _mask(mask: Argument) -> str:
    """From `keep`, bool (batch, key), as the target takes it."""
    if mask.form == "lengths":
        return "keep.sum(1)"
    said = "~keep" if mask.form == "hide" else "keep"
    axes = {"batch 1 key": "[:, None]", "batch 1 1 key": "[:, None, None]", "key batch": ".t()"}.get(mask.shape, "")
    if axes and said == "~keep":
        said = "(~keep)"
    said += axes
    if mask.form == "additive":
        return f"torch.zeros({said}.shape).masked_fill(~{said}, torch.finfo(torch.float32).min)"
    kind = {"int": ".long()", "float": ".float()"}.get(mask.dtype, "")
    return f"({said}){kind}" if kind and said.startswith("~") else said + kind


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) < 40 else f"<{type(value).__name__}>"
