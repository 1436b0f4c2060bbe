"""Sites, graphs, proofs and calls as JSON, and back."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from functools import reduce
from operator import and_, or_
from typing import Any

from numpy.typing import NDArray

from edgewise.errors import ArgumentError, EdgewiseError
from edgewise.graphs import Graph, documents, keys, parse
from edgewise.records.arrays import Array
from edgewise.records.call import Call
from edgewise.records.kept import Kept
from edgewise.records.record import Proof, Tokens
from edgewise.records.site import Site

__all__ = ["described_call", "described_graph", "json_values", "number", "proof", "read_call", "read_graph", "tokens"]

# A graph is written as its text up to this many characters, and its lists as arrays beyond.
LONGEST = 200

Put = Callable[[Array], str]
Get = Callable[[str, str, tuple[int, ...]], NDArray[Any]]

# Fields of a call that are written as they are.
PLAIN = ("index", "route", "scale", "soft_cap", "dropout", "cached", "dtype", "residual", "note", "hidden", "first")


# Those of them that may be infinite or NaN.
UNBOUNDED = ("residual", "hidden")


def number(value: float | None) -> float | str | None:
    """Return a number as JSON has it: those that are not finite as text, which `float` reads back."""
    return value if value is None or math.isfinite(value) else repr(float(value))


def described_call(call: Call) -> dict[str, Any]:
    """Return a call as JSON values, but for its site, its graph and its arrays."""
    plain: dict[str, Any] = {name: getattr(call, name) for name in PLAIN}
    plain |= {name: number(getattr(call, name)) for name in UNBOUNDED}
    plain["kept"] = None if call.kept == Kept() else asdict(call.kept)
    return plain


def read_call(described: Mapping[str, Any], site: Site, graph: Graph | None, arrays: Mapping[str, Array]) -> Call:
    """Return the call that was described."""
    plain: dict[str, Any] = {name: described[name] for name in PLAIN}
    plain |= {**arrays, **{name: float(plain[name]) for name in UNBOUNDED}}
    kept = described["kept"]
    if kept is None:
        return Call(site, graph=graph, **plain)
    chosen = [None if kept[name] is None else tuple(map(int, kept[name])) for name in ("heads", "rows")]
    return Call(site, graph=graph, kept=Kept(*chosen, of_rows=int(kept["of_rows"])), **plain)


def described_graph(graph: Graph, put: Put) -> Any:
    """Return a graph as JSON values: its text where that is short, else ["&", …], ["documents", name, shape] and so on.

    Args:
        graph: the graph.
        put: keeps an array and returns the name by which it is found again.
    """
    text = repr(graph)
    if len(text) <= LONGEST and _reads_back(text, graph):
        return text
    kind = type(graph).__name__.lower()
    if kind in ("documents", "keys"):
        listed = graph.arrays()[0]
        return [kind, put(Array.of(listed)), list(listed.shape)]
    sign = {"and": "&", "or": "|", "not": "~"}.get(kind)
    if sign is None:
        raise ArgumentError(f"a record keeps graphs made of the rules of edgewise.graphs; got {kind}: give allowed=")
    return [sign, *(described_graph(one, put) for one in graph.identity())]


def read_graph(described: Any, get: Get) -> Graph:
    """Return the graph that was described."""
    if isinstance(described, str):
        return parse(described)
    sign, *rest = described
    match sign:
        case "documents":
            return documents(get(rest[0], "int32", tuple(rest[1])))
        case "keys":
            return keys(get(rest[0], "bool", tuple(rest[1])))
        case "~":
            return ~read_graph(rest[0], get)
        case "&" | "|":
            return reduce(and_ if sign == "&" else or_, [read_graph(one, get) for one in rest])
        case _:
            raise ValueError(f"no graph begins with {sign!r}")


def proof(described: Mapping[str, Any]) -> Proof:
    """Return the proof that was described."""
    plain: dict[str, Any] = {one.name: described[one.name] for one in fields(Proof)}
    plain |= {name: float(plain[name]) for name in ("difference", "noise", "gradients")}
    return Proof(**plain)


def tokens(described: Any) -> Tokens | None:
    """Return the tokens that were described."""
    if described is None:
        return None
    found = tuple(tuple(one) for one in described)
    if not all(isinstance(token, str) for one in found for token in one):
        raise ValueError("a token is no text")
    return found


def json_values(name: str, given: Any) -> Any:
    """Return `given` where it is made of JSON values.

    Raises:
        ArgumentError: it is not.
    """
    try:
        return json.loads(json.dumps(given, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} must be JSON values: texts, finite numbers, lists, dictionaries ({error})"
        ) from None


def _reads_back(text: str, graph: Graph) -> bool:
    try:
        return parse(text) == graph
    except EdgewiseError:
        return False
