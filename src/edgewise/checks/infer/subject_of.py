"""How a target is called, found out."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from edgewise.checks.calls.calling import Refused, answer, call, held
from edgewise.checks.calls.frozen import drawn
from edgewise.checks.calls.subject import Subject
from edgewise.checks.infer.beside import Beside
from edgewise.checks.infer.caches import cached
from edgewise.checks.infer.encoded import encodes_once
from edgewise.checks.infer.functions import functions, more_shapes, sized
from edgewise.checks.infer.library import is_library, library_readings, library_takes
from edgewise.checks.infer.mappings import entries
from edgewise.checks.infer.memories import crossed
from edgewise.checks.infer.names import Role, Taken, parameters, role_of, roles
from edgewise.checks.infer.optional import optional
from edgewise.checks.infer.packed import RowByRow
from edgewise.checks.infer.plain import first_call
from edgewise.checks.infer.readings import heads_of, readings, widths
from edgewise.checks.infer.told import by_name, checked, parts_told
from edgewise.checks.infer.trial import BATCH, PLAIN, Trial
from edgewise.checks.infer.unwrapped import Called, unwrapped
from edgewise.checks.lab.sampling import sampled
from edgewise.checks.meaning.declared import Declared
from edgewise.errors import ArgumentError

__all__ = ["subject_of"]

PACKED = "called row by row: it takes packed tokens (tokens, heads, width) without a batch"


def subject_of(target: Any, declared: Declared | None = None, *, seconds: float = 60.0, **told: Any) -> Subject:
    """How a target is called.

    Args:
        target: a module, a class or a function that makes one, a method of one, a function of query, key and value, a
            `Target` of tracing, or a `Subject`.
        declared: what its attention is meant to be; a causal graph sets a flag that says so.
        seconds: how long finding out may take.
        **told: parts that are known: `reads` ("ids", "floats", "pixels", "features", "qkv"), `width`, `vocabulary`,
            `heads`, `groups`, `head_width`, `longest`, `layout`, `method`, `tokens` (the argument that is read);
            arguments as "name" or "name:form", or None for none: `mask` (forms keep, hide, additive, lengths),
            `square_mask`, `positions` (each, start), `documents` (ids, cumulative), `cache`, `weights`, `memory`,
            `memory_mask`; `switches={name: values}`; `arguments={name: value}` that are always given.

    Raises:
        ArgumentError: it cannot be called in any way that was tried, or what is told does not fit.
        RunError: making it failed.

    Example:
        >>> layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
        >>> subject = subject_of(layer)
        >>> subject.mask.name, subject.mask.form, subject.width
        ('key_padding_mask', 'hide', 16)
    """
    told = checked(told)
    if isinstance(target, Subject):
        return target.replace(**told) if told else target
    called = unwrapped(target, told.get("method"))
    declared = declared or Declared()
    bare, takes = _bare(called, declared, told)
    bare, takes = crossed(bare, takes) or (bare, takes)
    trial = Trial(seconds)
    candidates = _candidates(bare, takes, told)
    if bare.module is not None and is_library(bare.module):
        candidates = library_readings(bare, takes, told)
        takes = library_takes(bare.module, takes)
    subject = first_call(candidates, takes, trial)
    if subject is not None and isinstance(subject.target, Beside):
        takes = library_takes(subject.target, roles(parameters(subject.target.forward)))
    if subject is None:
        raise ArgumentError(_refusal(bare, takes, trial))
    return _whole(subject, takes, declared, told, trial)


def _bare(called: Called, declared: Declared, told: dict[str, Any]) -> tuple[Subject, dict[Role, list[Taken]]]:
    """What is known before anything is called, and the arguments by role."""
    function = getattr(called.target, called.method) if called.method else called.target
    taken = parameters(function)
    if not taken:
        raise ArgumentError(
            f"{called.name} takes no argument that it could read from: say how it is called by a Subject"
        )
    mapping, taken = entries(function, taken) or ("", taken)
    takes = by_name(roles(taken), told, taken)
    main = tuple(one.name for role in ("query", "key", "value", "tokens") for one in takes.get(role, []))
    if "tokens" in told:
        main = (told["tokens"],) if isinstance(told["tokens"], str) else tuple(told["tokens"])
    for several in takes.values():
        several[:] = [one for one in several if one.name not in main]
    positions = {one.name: one.place for one in taken}
    positional = not mapping and [positions.get(name) for name in main] == list(range(len(main)))
    module, dtype, device = _place(called)
    heads, groups = heads_of(module)
    subject = Subject(
        called.target,
        told.get("name", called.name),
        kind="function" if len(main) == 3 and not _holds(module) else "layer",
        reads="floats",
        method=called.method,
        main=main,
        positional=positional,
        mapping=mapping,
        layout=told.get("layout", "batch first"),
        heads=told.get("heads", heads),
        groups=told.get("groups", groups or heads),
        library="torch" if module is not None and type(module).__module__.startswith("torch.nn") else "",
        dtype=dtype,
        device=device,
        fixed=_fixed(called.target, told, declared, takes),
        memory_reads=told.get("memory_reads", "floats"),
        memory_width=told.get("memory_width"),
        inner=() if module is not None else tuple(_inner(called.target)),
        notes=called.notes,
    )
    return subject.replace(**parts_told(told)), takes


def _place(called: Called) -> tuple[nn.Module | None, torch.dtype, torch.device]:
    """The module that is called, the dtype of its floats, and where it is."""
    owner: Any = called.target if called.method else getattr(called.target, "__self__", None)
    module = owner if isinstance(owner, nn.Module) else None
    held = [module] if module is not None else _inner(called.target)
    floats = next(
        (one for each in held for one in [*each.parameters(), *each.buffers()] if one.is_floating_point()), None
    )
    if floats is not None and floats.is_meta:
        raise ArgumentError(f"{called.name} is on the meta device, which holds no numbers: give it weights first")
    if floats is None:
        return module, torch.get_default_dtype(), torch.device("cpu")
    return module, floats.dtype, floats.device


def _inner(function: Any) -> list[nn.Module]:
    """Modules that a function's code holds."""
    function = inspect.unwrap(getattr(function, "func", function))
    if not inspect.isfunction(function):
        return []
    found = inspect.getclosurevars(function)
    return [one for one in (*found.nonlocals.values(), *found.globals.values()) if isinstance(one, nn.Module)]


def _holds(module: nn.Module | None) -> bool:
    return module is not None and next(module.parameters(), None) is not None


def _fixed(target: Any, told: dict[str, Any], declared: Declared, takes: dict[Role, list[Taken]]) -> dict[str, Any]:
    """Arguments that are always given: those told, and a flag that says causal where that is declared."""
    fixed = {one.name: True for one in takes.get("switch", []) if one.name == "enable_gqa"} | told.get("arguments", {})
    if declared.graph is not None and "causal_flag" not in told:
        from edgewise.graphs import causal

        within = declared.graph.difference(declared.graph & causal(), 8, 8) is None
        # In torch's own modules the flag only says what a mask is that must be given with it.
        hint = type(target).__module__.startswith("torch.nn")
        for one in takes.get("causal", []) if not hint else []:
            if one.default is not None or one.required:
                fixed.setdefault(one.name, within)
    return fixed


def _candidates(bare: Subject, takes: dict[Role, list[Taken]], told: dict[str, Any]) -> Iterator[Subject]:
    if bare.kind == "function" and told.get("reads", "qkv") == "qkv":
        if takes.get("cumulative") and "layout" not in told:
            packed = bare.replace(target=RowByRow(bare.target), row_by_row=True, notes=(*bare.notes, PACKED))
            yield from functions(packed, told | {"layout": "heads third"})
        yield from functions(bare, told)
    if bare.kind != "function" or "reads" in told:
        if "width" not in told:
            for width in dict.fromkeys(width for one in bare.inner for width in widths(one)):
                yield from readings(bare, {"reads": "floats"} | told | {"width": width})
        yield from readings(bare, told)


def _whole(
    subject: Subject, takes: dict[Role, list[Taken]], declared: Declared, told: dict[str, Any], trial: Trial
) -> Subject:
    """With everything that it can be called without, too."""
    given = sampled(subject, BATCH)
    once = trial.answer(subject, given)
    if once is not None:
        other = trial.answer(subject, given)
        subject = subject.replace(seconds=min(one.seconds for one in (once, other) if one is not None))
    subject = optional(subject, takes, trial)
    subject = encodes_once(cached(subject, takes, trial), trial)
    if subject.reads == "qkv":
        shapes = [
            one
            for one in more_shapes(subject)
            if trial.answer(sized(subject, one), sampled(sized(subject, one), BATCH))
        ]
        subject = subject.replace(shapes=(*subject.shapes, *shapes))
    subject = _chance(subject, trial)
    subject = subject.replace(longest=told.get("longest", _longest(subject, trial)))
    kind = (
        "function" if subject.reads == "qkv" else "model" if subject.reads in ("ids", "pixels", "features") else "layer"
    )
    plain = {name: told[name] for name in ("pad",) if name in told}
    if "pad" not in told and declared.pad is not None:
        plain["pad"] = declared.pad
    by_id = declared.pad is not None and subject.reads == "ids" and subject.mask is None
    return subject.replace(kind=kind, pads_by_id=by_id, **plain)


def _chance(subject: Subject, trial: Trial) -> Subject:
    """Whether what it answers in evaluation mode depends on random numbers, and whether it draws other than torch's."""
    given = sampled(subject, BATCH)
    try:
        with held(subject, PLAIN, seconds=trial.left):
            before = str(drawn())
            call(subject, given.to(subject.dtype, subject.device), PLAIN)
            draws = str(drawn()) != before
        one, two = (answer(subject, given, PLAIN, seed=seed, seconds=trial.left) for seed in (0, 1))
    except Refused:
        return subject
    different = not torch.equal(torch.nan_to_num(one.out), torch.nan_to_num(two.out))
    return subject.replace(random=different, draws=draws)


def _longest(subject: Subject, trial: Trial) -> int | None:
    """The most tokens that it takes, where that is less than a good many."""
    if subject.reads in ("pixels", "features", "qkv"):
        return None
    short, long = subject.length, 65
    if trial.answer(subject, sampled(subject, 1, long), replace(PLAIN, batch=1)) is not None:
        return None
    while long - short > 1:
        middle = (short + long) // 2
        if trial.answer(subject, sampled(subject, 1, middle), replace(PLAIN, batch=1)) is not None:
            short = middle
        else:
            long = middle
    return short


def _refusal(bare: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> str:
    """What was tried, what the target said, and how to say it."""
    wanted = [one.name for several in takes.values() for one in several if one.required and one.name not in bare.fixed]
    unknown = [name for name in wanted if role_of(Taken(name, None, True, 0)) == "other"]
    said = "; ".join(trial.failures[:3]) or "nothing was tried"
    helps = (
        f"say what {', '.join(unknown)} should be: arguments={{{unknown[0]!r}: …}}"
        if unknown
        else "say what it reads (reads='ids', vocabulary=…; reads='floats', width=…), or give a whole Subject"
    )
    late = " and the time for finding out was over" if trial.left <= 0 else ""
    return f"{bare.name} could not be called: {trial.calls} ways were tried{late}; {said}. Try: {helps}"
