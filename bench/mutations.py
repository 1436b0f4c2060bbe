"""Breaks right models in every mechanical way, one at a time, and counts how many of the broken ones check tells.

Run: python bench/mutations.py [NAME …]. A change that changes no number on any way through the code, and one that
raises by itself, break nothing and are not counted. Figures go to bench/mutations.json, survivors by name.
"""

import argparse
import ast
import copy
import json
import linecache
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from edgewise.checks import check
from record import write
from right_models import MODELS

SOURCE = Path(__file__).with_name("right_models.py").read_text(encoding="utf-8")


def change(name: str) -> Callable[[Callable[[ast.AST], Iterator[ast.AST]]], Callable[[ast.AST], Iterator[ast.AST]]]:
    """Add an operator: it yields what a node can be replaced with."""

    def add(operator: Callable[[ast.AST], Iterator[ast.AST]]) -> Callable[[ast.AST], Iterator[ast.AST]]:
        OPERATORS[name] = operator
        return operator

    return add


OPERATORS: dict[str, Callable[[ast.AST], Iterator[ast.AST]]] = {}


def called(node: ast.AST, *names: str) -> bool:
    """Return whether a node is a call of a method or function of one of these names."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in names


def swapped(node: ast.AST, **parts: Any) -> ast.AST:
    """Return a copy of a node with other parts."""
    other = copy.deepcopy(node)
    for name, value in parts.items():
        setattr(other, name, value)
    return other


@change("drop a mask")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "masked_fill"):
        yield node.func.value
    if isinstance(node, ast.keyword) and node.arg == "attn_mask":
        yield swapped(node, value=ast.Constant(None))


@change("drop a call")
def _(node: ast.AST) -> Iterator[ast.AST]:
    method = called(node, "tril", "triu", "clamp", "cumsum", "softmax") and isinstance(node.func, ast.Attribute)
    if method and ast.unparse(node.func.value) != "F":
        yield node.func.value


@change("leave out a transpose")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "transpose"):
        yield node.func.value
    if called(node, "view", "unflatten") and not isinstance(node.args[-1], ast.Tuple):
        batch, tokens, heads, width = node.args
        yield swapped(node, args=[batch, heads, tokens, width])


@change("flip what True means")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield node.operand
    if isinstance(node, ast.keyword) and node.arg == "attn_mask":
        yield swapped(node, value=ast.UnaryOp(ast.Invert(), node.value))
    if called(node, "bool") and isinstance(node.func, ast.Attribute):
        yield ast.UnaryOp(ast.Invert(), node)


@change("and for or, or for and")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield swapped(node, op=ast.BitOr())
        yield node.left
        yield node.right
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield swapped(node, op=ast.BitAnd())


@change("another comparison")
def _(node: ast.AST) -> Iterator[ast.AST]:
    others = {ast.Lt: (ast.LtE, ast.Gt), ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq, ast.GtE, ast.LtE)}
    if isinstance(node, ast.Compare):
        for other in others.get(type(node.ops[0]), ()):
            yield swapped(node, ops=[other()])


@change("one off")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "tril", "triu"):
        for by in (-1, 1):
            diagonal = node.args[0] if node.args else ast.Constant(0)
            yield swapped(node, args=[ast.BinOp(diagonal, ast.Add(), ast.Constant(by))])
        if node.args:
            yield swapped(node, args=[])
    constant = node.comparators[0] if isinstance(node, ast.Compare) else None
    if isinstance(constant, ast.Constant) and type(constant.value) is int:
        for by in (-1, 1):
            yield swapped(node, comparators=[ast.Constant(constant.value + by)])


@change("upside down")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "tril"):
        yield swapped(node, func=swapped(node.func, attr="triu"))


@change("another scale")
def _(node: ast.AST) -> Iterator[ast.AST]:
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    if power and ast.unparse(node) in (
        "4 ** (-0.5)",
        "4 ** -0.5",
        "4 ** 0.5",
        "q.size(-1) ** -0.5",
        "q.size(-1) ** (-0.5)",
    ):
        for exponent in (0.5, -0.5, -1.0, 0.0, -0.25):
            if ast.unparse(node.right) != ast.unparse(ast.parse(str(exponent)).body[0].value):
                yield swapped(node, right=ast.Constant(exponent))
        yield swapped(node, left=ast.Constant(16))
    if called(node, "sqrt"):
        for width in (1, 16, 64):
            yield swapped(node, args=[ast.Constant(width)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and ".transpose(-2, -1)" in ast.unparse(node):
        yield ast.BinOp(node, ast.Mult(), ast.Constant(0.5))
        yield ast.BinOp(node, ast.Mult(), ast.Constant(2.0))


@change("softmax along another axis")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "softmax"):
        for axis in (-2, 1):
            if node.keywords:
                yield swapped(node, keywords=[ast.keyword("dim", ast.Constant(axis))])
            else:
                yield swapped(node, args=[ast.Constant(axis)])


@change("mask after softmax")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "softmax") and isinstance(node.func, ast.Attribute) and called(node.func.value, "masked_fill"):
        filled = node.func.value
        plain = swapped(node, func=swapped(node.func, value=filled.func.value))
        yield swapped(filled, func=swapped(filled.func, value=plain), args=[filled.args[0], ast.Constant(0.0)])


@change("a weaker fill")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "masked_fill"):
        for fill in (-10.0, 0.0, 1.0):
            yield swapped(node, args=[node.args[0], ast.Constant(fill)])


@change("heads tiled")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "repeat_interleave"):
        times = ast.unparse(node.args[0])
        yield ast.parse(f"{ast.unparse(node.func.value)}.repeat(1, {times}, 1, 1)").body[0].value


@change("the cache the other way round")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "cat") and isinstance(node.args[0], ast.List) and "[0]" in ast.unparse(node) + "[1]":
        parts = node.args[0].elts
        yield swapped(node, args=[ast.List(parts[::-1], ast.Load()), *node.args[1:]])
        if "cache" in ast.unparse(node) or "past" in ast.unparse(node):
            yield parts[1]


@change("another sign")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield swapped(node, op=ast.Sub())
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield swapped(node, op=ast.Add())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node.operand


@change("no offset")
def _(node: ast.AST) -> Iterator[ast.AST]:
    if called(node, "arange") and len(node.args) == 2:
        yield swapped(node, args=[ast.BinOp(node.args[1], ast.Sub(), node.args[0])])
    if isinstance(node, ast.Name) and node.id == "past" and isinstance(node.ctx, ast.Load):
        yield ast.Constant(0)


@change("another tensor")
def _(node: ast.AST) -> Iterator[ast.AST]:
    others = {"q": "k", "k": "q", "v": "k", "wide_k": "wide_v", "wide_v": "wide_k", "cos": "sin", "sin": "cos"}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in others:
        yield swapped(node, id=others[node.id])
    if (
        isinstance(node, ast.Attribute)
        and node.attr in ("query", "key", "value")
        and ast.unparse(node).startswith("self.")
    ):
        yield swapped(node, attr={"query": "key", "key": "query", "value": "key"}[node.attr])


@change("another axis of the mask")
def _(node: ast.AST) -> Iterator[ast.AST]:
    text = ast.unparse(node) if isinstance(node, ast.Subscript) else ""
    if text.endswith("[:, None, None, :]"):
        yield ast.parse(text.replace("[:, None, None, :]", "[:, None, :, None]")).body[0].value
        yield ast.parse(text.replace("[:, None, None, :]", "[:1, None, None, :]")).body[0].value
        yield ast.parse(text.replace("[:, None, None, :]", "[:, None, None, :].flip(-1)")).body[0].value


def broken() -> Iterator[tuple[str, str, str, str]]:
    """Yield each mutant: its model, the operator, what was changed, and the source."""
    tree = ast.parse(SOURCE)
    for part in tree.body:
        name = getattr(part, "name", None)
        if name not in MODELS:
            continue
        lines = SOURCE.splitlines()[part.lineno - 1 : part.end_lineno]
        first = next(at for at, line in enumerate(lines) if line.strip() == "# attention") + part.lineno
        last = next(at for at, line in enumerate(lines) if line.strip() == "# end") + part.lineno
        for node in ast.walk(part):
            line = node.value.lineno if isinstance(node, ast.keyword) else getattr(node, "lineno", 0)
            if not first < line < last:
                continue
            for operator, changes in OPERATORS.items():
                for other in changes(node):
                    yield name, operator, f"{_said(node)} → {_said(other)}", _replaced(part, node, other)


def _said(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
    return text if len(text) <= 60 else text[:57] + "…"


def _replaced(part: ast.AST, node: ast.AST, other: ast.AST) -> str:
    def copied(one: Any) -> Any:
        if one is node:
            return copy.deepcopy(other)
        if not isinstance(one, ast.AST):
            return one
        made = type(one)()
        for field, value in ast.iter_fields(one):
            setattr(made, field, [copied(each) for each in value] if isinstance(value, list) else copied(value))
        return ast.copy_location(made, one)

    return ast.unparse(ast.fix_missing_locations(copied(part)))


def built(source: str, name: str, number: int) -> Any:
    """Return a model made from source, with the same numbers whenever it is made."""
    import math

    import torch.nn.functional as F
    from torch import nn

    path = f"<mutant {number}>"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "math": math}
    exec(compile(source, path, "exec"), space)
    torch.manual_seed(0)
    return space[name]() if isinstance(space[name], type) else space[name]


def ways(model: Any, name: str) -> list[torch.Tensor]:
    """Return what a model gives on many ways through its code; raises where it raises on the first."""
    draw = torch.Generator().manual_seed(1)
    x, memory = torch.randn(3, 7, 16, generator=draw), torch.randn(3, 5, 16, generator=draw)
    left = torch.ones(3, 7, dtype=torch.long)
    left[1, :2], left[2, :4] = 0, 0
    right, ids = left.flip(1), torch.randint(0, 40, (3, 7), generator=draw)
    real = [left.bool(), right.bool()]
    if name == "function":
        shapes = [((2, 4, 5, 8), (2, 4, 7, 8)), ((2, 6, 5, 8), (2, 2, 5, 8))]
        return [model(*(torch.randn(shape, generator=draw) for shape in (query, key, key))) for query, key in shapes]
    if name in ("Causal", "Rotary"):
        whole, _ = model(x)
        prompt, cache = model(x[:, :3])
        chunk, cache = model(x[:, 3:5], past_key_values=cache) if name == "Rotary" else model(x[:, 3:5], cache=cache)
        step, _ = model(x[:, 5:6], past_key_values=cache) if name == "Rotary" else model(x[:, 5:6], cache=cache)
        found = [whole, prompt, chunk, step]
        if name == "Causal":
            found += [model(x, attention_mask=one)[0][keep] for one, keep in zip((left, right), real, strict=True)]
        return found
    if name in ("Fused", "Encoder", "Language"):
        given = ids if name == "Language" else x
        switches = {"Fused": [{"fused": True}, {"fused": False}], "Encoder": [{}, {"need_weights": True}]}.get(
            name, [{}]
        )
        found = []
        for switch in switches:
            for mask, keep in ((None, slice(None)), (left, real[0]), (right, real[1])):
                answer = model(given, mask, **switch)
                found += [(answer[0] if isinstance(answer, tuple) else answer)[keep]]
        return found
    if name == "Packed":
        return [model(x, torch.tensor([[0, 0, 0, 1, 1, 1, 2]]).expand(3, 7))]
    if name == "Cross":
        mask = torch.ones(3, 5, dtype=torch.long)
        mask[1, 3:] = 0
        return [model(x, memory), model(x, memory, mask)]
    return [model(x)]


def changed(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    """Return whether two models give other numbers anywhere."""
    if [x.shape for x in one] != [x.shape for x in other]:
        return True
    return any(not torch.allclose(x, y, atol=1e-9, rtol=0, equal_nan=True) for x, y in zip(one, other, strict=True))


def main() -> None:
    """Break, check, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these models")
    arguments = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    right = {name: ways(built(_source_of(name), name, -1), name) for name in MODELS}
    counts: dict[str, Counter[str]] = {}
    survivors: list[list[str]] = []
    begun = time.perf_counter()
    for number, (name, operator, what, source) in enumerate(broken()):
        if arguments.names and name not in arguments.names:
            continue
        fate, by = outcome(source, name, number, right[name])
        counts.setdefault(operator, Counter())[fate] += 1
        if fate == "survived":
            survivors.append([name, operator, what])
        seconds = time.perf_counter() - begun
        print(f"{number:4} {seconds:6.0f} s  {fate:10} {name:9} {operator}: {what}  {by}", file=sys.stderr, flush=True)
    clean = {name: str(check(built(_source_of(name), name, -2), **MODELS[name]).findings) for name in MODELS}
    told = sum(one["told"] for one in counts.values())
    broke = told + sum(one["survived"] for one in counts.values())
    fates = ("told", "survived", "the same", "raises")
    rows = [[operator, *(one[fate] for fate in fates)] for operator, one in counts.items()]
    rows.append(["all", *(sum(one[fate] for one in counts.values()) for fate in fates)])
    tables = [
        {
            "title": "Mutants",
            "columns": ["change", "told", "survived", "changes nothing", "raises by itself"],
            "rows": rows,
        },
        {"title": "Survivors", "columns": ["model", "change", "what"], "rows": survivors},
    ]
    notes = [
        f"{told} of {broke} broken models are told, {100 * told / max(1, broke):.1f} %.",
        f"The right models: {sum(one == '()' for one in clean.values())} of {len(clean)} without a finding.",
        "Rotary with the sign of its exponents turned is still a rotation by distance; positions that begin at 2 are "
        "positions; queries and keys of cross attention may share a projection: none of these is a mistake that "
        "measuring could know of. Positions that are the same for all, where they are claimed, should be told.",
    ]
    if not arguments.names:
        write(__file__, "Mutations", 1, tables, notes, {"clean": clean})
    print(json.dumps({"notes": notes, "survivors": survivors, "clean": clean}, indent=1))


def outcome(source: str, name: str, number: int, right: list[torch.Tensor]) -> tuple[str, str]:
    """Return what became of a mutant, and which findings told it."""
    try:
        numbers = ways(built(source, name, number), name)
    except Exception:
        return "raises", ""
    if not changed(right, numbers):
        return "the same", ""
    try:
        report = check(built(source, name, number), **MODELS[name])
    except Exception as error:
        return "survived", f"{type(error).__name__}: {error}"[:120]  # a check that fails has told nothing
    found = [f"{one.cause.property} {one.cause.kind}" for one in report.findings]
    return ("told" if found else "survived"), ", ".join(found)


def _source_of(name: str) -> str:
    return next(ast.unparse(one) for one in ast.parse(SOURCE).body if getattr(one, "name", None) == name)


if __name__ == "__main__":
    main()
