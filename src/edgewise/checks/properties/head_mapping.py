"""head-mapping: tokens are split into heads and merged again in order, and each query head reads its own key head."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from edgewise.checks.calls.calling import Refused
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Shape
from edgewise.checks.finding import Observation, Skip
from edgewise.checks.properties.examples.head_mapping import broken, right
from edgewise.checks.properties.unused import unused
from edgewise.checks.property import Property

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["PROPERTY"]

NAME = "head-mapping"
VIEW = "the axes of tokens and heads were exchanged by view or reshape, without the transpose between"


class _Fault(NamedTuple):
    kind: str
    measured: str
    expected: str
    likely: str
    site: str = ""
    head: int | None = None
    warning: bool = False


def examine(lab: "Lab") -> Iterator[Observation]:
    """Yield routes on which heads are mixed up."""
    looked, whys = 0, list[str]()
    for route in _routes(lab):
        try:
            found = _function(lab, route) if lab.subject.reads == "qkv" else _module(lab, route)
        except (Refused, Skip) as why:
            whys.append(str(why))
            continue
        looked += 1
        if found is not None:
            yield Observation(
                *(NAME, found.kind, route, found.measured, found.expected, found.likely, found.site, found.head),
                warning=found.warning,
            )
    if not looked:
        raise Skip(whys[0] if whys else "no attention was seen whose heads could be looked at")


def _routes(lab: "Lab") -> list[Route]:
    return [
        route
        for route in lab.where(cached=(), packed=False, training=False, contiguous=True, mask=lab.plain.mask)
        if route.dtype is None and route.batch > 1
    ]


def _function(lab: "Lab", route: Route) -> _Fault | None:
    given = lab.given(route)
    assert given.key is not None
    shapes = [one for one in lab.subject.shapes if 1 < one.groups < one.heads]
    sizes = [*(_of(given, one) for one in shapes[:1]), given]
    for one in sizes:
        found = _shared(lab, route, one)
        if found is not None:
            return found
    return None


def _of(given: Given, shape: Shape) -> Given:
    """Another input of a function, with several query heads to a key head."""
    chance = torch.Generator().manual_seed(5)

    def some(heads: int, length: int) -> Tensor:
        size = (given.batch, heads, length, shape.width)
        return torch.randn(size, generator=chance, dtype=torch.float64).to(given.tokens)

    query, key = shape.query, shape.key
    return given.replace(
        tokens=some(shape.heads, query), key=some(shape.groups, key), value=some(shape.groups, key), allowed=None
    )


def _shared(lab: "Lab", route: Route, given: Given) -> _Fault | None:
    """Which heads of a function's output move with each head of what it reads."""
    assert given.key is not None
    heads, groups = given.tokens.shape[1], given.key.shape[1]
    before = lab.answer(given, route).out
    if before.shape[1] != heads:
        return None  # these sizes are not its own
    by = {name: _moved(lab, route, given, name, before) for name in ("tokens", "key", "value")}
    wanted = torch.arange(heads)[None] // (heads // groups) == torch.arange(groups)[:, None]
    tiled = torch.arange(heads)[None] % groups == torch.arange(groups)[:, None]
    words = {"tokens": "query", "key": "key", "value": "value"}
    for name, found in by.items():
        want = torch.eye(heads, dtype=torch.bool) if name == "tokens" else wanted
        if not bool(found.any()) and not (name != "value" and given.length < 2):
            return _Fault(
                "J5", f"changing a {words[name]} moves nothing", "each of the three is read", _unread(words[name])
            )
        if bool((found == want).all()) or (name != "value" and bool(found.all())):
            continue  # all heads of queries and keys reach all outputs where a softmax runs over them
        at = int((found != want).any(1).nonzero()[0])
        measured = f"changing {words[name]} head {at} moves query heads {_listed(found[at])}"
        expected = f"{_listed(want[at])}"
        if name != "tokens" and bool((found == tiled).all()):
            return _Fault("J4", measured, expected, "key heads are tiled in place of repeated for neighbours", "", at)
        if name != "tokens" and 1 < groups < heads:
            return _Fault("J4", measured, expected, "query heads are given key heads in another order", "", at)
        if bool(by["value"].all()):
            return _Fault(
                "J3", measured, expected, "attention runs over heads: it takes (batch, token, head, width)", "", at
            )
        used = found.any(1).nonzero()[:, 0].tolist()
        return _Fault("J5", measured, expected, f"only {words[name]} heads {used} are used, for all heads", "", at)
    return None


def _unread(name: str) -> str:
    return f"{name} never used: another of the three stands in its place"


def _moved(lab: "Lab", route: Route, given: Given, name: str, before: Tensor) -> Tensor:
    """Bool (heads of what is changed, heads of the output)."""
    values = getattr(given, name)
    rows: list[Tensor] = []
    for head in range(values.shape[1]):
        changed = values.clone()
        changed[:, head] = changed[:, head].flip(-1) + 1
        after = lab.answer(given.replace(**{name: changed}), route).out
        size = (after - before).double().abs().nan_to_num(0).amax((0, 2, 3))
        rows.append(size > 1e-6 * float(before.double().abs().nan_to_num(0).max()))
    return torch.stack(rows)


def _listed(heads: Tensor) -> str:
    return ", ".join(str(one) for one in heads.nonzero()[:, 0].tolist()) or "none"


def _module(lab: "Lab", route: Route) -> _Fault | None:
    reads, writes = lab.reads(route), lab.writes(route)
    calls = [one for one in lab.calls(route) if one.kind == "self"]
    if reads is None and writes is None and not calls:
        raise Skip("no attention was seen from inside, so that its heads cannot be told apart")
    sideways = _sideways(lab, route)
    if sideways is not None:
        return sideways
    if reads is not None:
        for name in ("query", "key", "value"):
            found = _split(name, getattr(reads, name), reads.site)
            if found is not None:
                return found
    if writes is not None:
        found = _merged(writes.moved, writes.site)
        if found is not None:
            return found
    for one in calls:
        found = _grouped(one.key, one.site) or _grouped(one.value, one.site)
        if found is not None:
            library = lab.subject.library == "transformers"
            return found._replace(warning=library)
    return unused_heads(lab, route)


def _sideways(lab: "Lab", route: Route) -> _Fault | None:
    """Whether tokens stand where attention takes its heads: (batch, token, head, width)."""
    given = lab.given(route)
    calls = [one for one in lab.calls(route) if one.query.shape[1] == given.length != one.query.shape[2]]
    if not calls or given.tokens.dim() != 3 or given.batch != calls[0].query.shape[0]:
        return None
    tokens = given.tokens.clone()
    tokens[:, 1] = tokens[:, 1].flip(-1) + 1
    moved = next((one for one in lab.calls(route, given.replace(tokens=tokens)) if one.site == calls[0].site), None)
    if moved is None or moved.query.shape != calls[0].query.shape:
        return None
    apart = (moved.query - calls[0].query).abs().amax((0, 2, 3)) > 1e-6
    if _listed(apart) != "1":
        return None
    return _exchanged(given.length, calls[0].query.shape[2], calls[0].site)


def _exchanged(tokens: int, heads: int, site: str) -> _Fault:
    measured = f"what attention takes for head 1 of its {tokens} heads is token 1"
    expected = f"{heads} heads, and token 1 in row 1 of each"
    return _Fault("J3", measured, expected, "attention runs over heads: it is given (batch, token, head, width)", site)


def _split(name: str, rows: Tensor, site: str) -> _Fault | None:
    """Whether each row is made of its own token; bool (heads, row, token)."""
    heads, many, tokens = rows.shape
    own = torch.eye(tokens, dtype=torch.bool)
    if heads < 2 or not bool(rows.any()):
        return None
    if many == tokens and bool((rows & own).sum((1, 2)).eq(tokens).all()):
        return None
    by_head = own[:, None].expand(tokens, many, tokens) if heads == tokens else None
    if by_head is not None and bool((rows == by_head).all()):
        return _exchanged(heads, many, site)
    if many != tokens:
        return None  # blocks, windows or other axes: another layout by design
    chunk = (torch.arange(heads)[:, None] * tokens + torch.arange(tokens)) // heads
    viewed = chunk[..., None] == torch.arange(tokens)
    if bool((rows == viewed).all()) or bool((rows.sum(-1) == 1).all()):
        head, row = ((rows & own).any(-1) == 0).nonzero()[0].tolist()
        measured = f"{name} row {row} of head {head} is made of token {_listed(rows[head, row])}"
        return _Fault("J1", measured, f"token {row}", f"split into heads: {VIEW}", site, head)
    return None


def _merged(moved: Tensor, site: str) -> _Fault | None:
    """Whether what a head gives out at a row goes to the output of that token; bool (heads, row, query)."""
    heads, many, tokens = moved.shape
    own = torch.eye(tokens, dtype=torch.bool)
    if heads < 2 or many != tokens or bool((moved & own).sum((1, 2)).eq(tokens).all()) or not bool(moved.any()):
        return None
    place = (torch.arange(heads)[:, None] * tokens + torch.arange(tokens)) // heads
    viewed = place[..., None] == torch.arange(tokens)
    if bool((moved == viewed).all()) or bool((moved.sum(-1) == 1).all()):
        head, row = ((moved & own).any(-1) == 0).nonzero()[0].tolist()
        measured = f"row {row} of head {head} moves the output of token {_listed(moved[head, row])}"
        return _Fault("J2", measured, f"token {row}", f"merging heads: {VIEW}", site, head)
    return None


def _grouped(vectors: Tensor, site: str) -> _Fault | None:
    """Whether heads that have the same keys are neighbours."""
    heads = vectors.shape[1]
    same = torch.tensor(
        [[torch.equal(vectors[:, one], vectors[:, other]) for other in range(heads)] for one in range(heads)]
    )
    first = same.double().argmax(1)
    groups = int(first.unique().numel())
    if groups in (1, heads) or heads % groups:
        return None
    number = torch.tensor([first.unique().tolist().index(int(one)) for one in first])
    if bool((number == torch.arange(heads) // (heads // groups)).all()):
        return None
    tiled = bool((number == torch.arange(heads) % groups).all())
    likely = (
        "key heads are tiled in place of repeated for neighbours" if tiled else "key heads are repeated out of order"
    )
    measured = f"query heads read key heads {number.tolist()}"
    return _Fault("J4", measured, str((torch.arange(heads) // (heads // groups)).tolist()), likely, site)


def unused_heads(lab: "Lab", route: Route) -> _Fault | None:
    """Projections of which some heads are computed and never used."""
    if lab.subject.module is None:
        return None
    for one in lab.calls(route):
        name, some = unused(lab, route, one)
        if name:
            equal = [("queries", "keys", one.query, one.key), ("keys", "values", one.key, one.value)]
            equal = [
                (a, b) for a, b, first, second in equal if first.shape == second.shape and torch.equal(first, second)
            ]
            alike = (
                f"the {equal[0][0]} are the {equal[0][1]}: two of the three were taken from one place" if equal else ""
            )
            measured = f"{name} gives {some} channels that nothing reads"
            likely = (
                alike or "heads share what each should have of its own, or the three were cut apart at the wrong place"
            )
            return _Fault("J5", measured, "all of them are read", likely, one.site, None, lab.subject.library != "")
    return None


PROPERTY = Property(
    name=NAME,
    says="Tokens are split into heads and merged in order, and query head h reads key head h // (heads // key heads).",
    why=(
        "All of these shapes are legal. A view in place of a transpose mixes tokens into heads, so that even "
        "a right mask hides the wrong things; key heads in the wrong order make trained weights useless, and "
        "nothing fails."
    ),
    assumes=(
        "Neighbouring query heads share a key head, as in published models. How a fused projection lays out "
        "its three parts is a convention of its weights and is not judged. One key head for all is by design."
    ),
    kinds={
        "J1": "split into heads without a transpose",
        "J2": "merged from heads without a transpose",
        "J3": "attention is given another layout than it takes",
        "J4": "query heads read the wrong key heads",
        "J5": "query, key and value are cut apart wrongly, or heads share what should be their own",
    },
    references=("onnx/onnx#7274", "ekzhang/jax-js#180", "apple/axlearn#842"),
    examine=examine,
    broken=broken,
    right=right,
)
