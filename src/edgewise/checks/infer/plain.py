"""Finding the first call that a target takes: what it reads, and what must be given beside."""

from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any, Literal

import torch

from edgewise.checks.calls.results import at, axes_of, finite, leaves, whole_in
from edgewise.checks.calls.subject import WHOLE, Argument, Path, Subject
from edgewise.checks.infer.forms import (
    cumulative_forms,
    document_forms,
    mask_forms,
    position_forms,
    square_forms,
)
from edgewise.checks.infer.memories import memories
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.trial import BATCH, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["first_call", "needed"]

NOTHING = "it returns nothing for each token"
MOST = 60
"""Ways of giving what is required that are tried with each thing to read."""


def first_call(candidates: Iterator[Subject], takes: dict[Role, list[Taken]], trial: Trial) -> Subject | None:
    """The first candidate that answers for each token, with what it must be given; None where none answers.

    One that answers with numbers goes before one that answers with NaN or by something else than what it reads, and
    that before one answer for all tokens.
    """
    second: Subject | None = None
    third: Subject | None = None
    for candidate in candidates:
        for subject in islice(needed(candidate, takes), MOST):
            # What True means is not found out by which meaning gives numbers: see `optional`.
            if second is not None and second.main == subject.main and _said(second) != _said(subject):
                continue
            found = _answers(subject, takes, trial)
            if found is None:
                if third is None and trial.failures[-1:] and trial.failures[-1].startswith(NOTHING):
                    third = _pooled(subject, trial)
                continue
            if found.finite and not _unmoved(found, trial):
                return found
            second = second or found
        if trial.left <= 0:
            break
    return second or third


def _unmoved(subject: Subject, trial: Trial) -> bool:
    """Whether other tokens move nothing: the answer is the memory's, with as many places as tokens by chance."""
    if subject.memory is None:
        return False
    given = sampled(subject, BATCH)
    other = given.replace(tokens=sampled(subject, BATCH, seed=1).tokens)
    one, two = (trial.returned(subject, each) for each in (given, other))
    if one is None or two is None or subject.output is None:
        return False
    return torch.equal(at(one[0], subject.output), at(two[0], subject.output))


def _pooled(subject: Subject, trial: Trial) -> Subject | None:
    """The subject, if it answers once for a whole sequence, however many tokens and sequences it is given."""
    if subject.reads not in ("ids", "floats") or subject.output is not None:
        return None
    shapes, lengths = set[tuple[int, ...]](), set[int]()
    found: Path | None = None
    out = torch.empty(0)
    for batch, longer in ((BATCH, 0), (BATCH, 1), (BATCH, 4), (2, 0)):
        returned = trial.returned(subject, sampled(subject, batch, subject.length + longer))
        if returned is None and longer:
            continue  # it takes one length alone, which then may be none of the answer's
        path = None if returned is None else whole_in(returned[0], batch)
        if returned is None or path is None or found not in (None, path):
            return None
        out, found = at(returned[0], path), path
        shapes.add(tuple(out.shape[1:]))
        lengths.add(subject.length + longer)
    if len(shapes) > 1 or (len(lengths) == 1 and subject.length in out.shape[1:]):
        return None
    return subject.replace(output=found, output_axes=WHOLE, finite=finite(out))


def _said(subject: Subject) -> tuple[str, ...]:
    several = (subject.mask, subject.square_mask, subject.memory_mask, subject.positions, subject.documents)
    return tuple(one.form for one in several if one is not None)


def _answers(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject | None:
    """The subject with the place of its answer, if it answers.

    One that answers for its last token alone is told what should come next, as in training: then it answers for all.
    """
    given = sampled(subject, BATCH)
    shapes = ""
    for targets in ("", *(one.name for one in takes.get("targets", []))):
        tried = subject.replace(targets=targets)
        returned = trial.returned(tried, given)
        if returned is None:
            continue
        result, mutates = returned
        found = _place(tried, result, given.length)
        if found is not None and found[1] == "batch query" and not _by_length(tried, given.length + 1, trial):
            found = None  # as many numbers as tokens, by chance
        if found is not None:
            path, axes = found
            return tried.replace(output=path, output_axes=axes, mutates=mutates, finite=finite(at(result, path)))
        shapes = shapes or ", ".join(str(tuple(leaf.shape)) for _, leaf in leaves(result)) or type(result).__name__
    if shapes:
        trial.failures.append(f"{NOTHING} ({shapes} for {tuple(given.tokens.shape)})")
    return None


def _by_length(subject: Subject, length: int, trial: Trial) -> bool:
    """Whether it answers with one number a token for another number of tokens, too."""
    returned = trial.returned(subject, sampled(subject, BATCH, length))
    found = None if returned is None else _place(subject, returned[0], length)
    return found is not None and found[1] == "batch query"


def _place(subject: Subject, result: Any, length: int) -> tuple[Path, str] | None:
    if subject.reads == "qkv":
        place = {"heads third": 1, "no heads": 1}.get(subject.layout, 2)
        dims = 3 if subject.layout == "no heads" else 4
        for path, leaf in leaves(result, 2):
            if leaf.dim() == dims and leaf.shape[0] == BATCH and leaf.shape[place] == length:
                return path, ""
        return None
    if subject.output is not None:
        leaf = at(result, subject.output)
        found = None if leaf is None else axes_of(leaf, BATCH, None if subject.sizes else length)
        return None if found is None else (subject.output, found[1])
    free = subject.reads in ("pixels", "features")
    return axes_of(result, BATCH, None if free else length, "query" if subject.layout == "time first" else "batch")


def needed(subject: Subject, takes: dict[Role, list[Taken]], *, padding: bool = False) -> Iterator[Subject]:
    """The subject with every combination of forms of the arguments that it cannot be called without.

    Args:
        subject: the candidate.
        takes: its arguments by role.
        padding: whether the mask of a function is one of padding; else it is one over pairs, and then of padding.
    """
    ways: list[tuple[str, list[Any]]] = []
    fixed: dict[str, Any] = dict(subject.fixed)
    for role, several in takes.items():
        for one in several:
            if not one.required or one.name in fixed or one.name in subject.main:
                continue
            field, forms = _forms("padding" if padding and role == "mask" else role, one, subject)
            if field == "fixed":
                fixed[one.name] = forms[0]
            elif getattr(subject, field) is None:
                ways.append((field, list(forms)))
    for chosen in product(*(forms for _, forms in ways)):
        parts = {field: form for (field, _), form in zip(ways, chosen, strict=True)}
        made = subject.replace(fixed=fixed, **parts)
        yield from memories(made) if "memory" in parts else (made,)
    one_length = subject.reads == "qkv" and subject.shapes[0].query == subject.shapes[0].key
    if one_length and not padding and any(one.required for one in takes.get("mask", [])):
        yield from needed(subject, takes, padding=True)


def _forms(role: Role | Literal["padding"], one: Taken, subject: Subject) -> tuple[str, list[Any]]:
    """The part of the subject that an argument becomes, and its forms."""
    hidden = subject.library == "torch"
    known: dict[Role | Literal["padding"], tuple[str, Callable[[], list[Argument]]]] = {
        "padding": ("mask", lambda: list(mask_forms(one))),
        "mask": ("mask", lambda: list(mask_forms(one))),
        "lengths": ("mask", lambda: [Argument(one.name, "lengths", "batch", "int", one.required)]),
        "square": ("square_mask", lambda: list(square_forms(one, hidden=hidden))),
        "positions": ("positions", lambda: list(position_forms(one))),
        "start": ("positions", lambda: list(position_forms(one, start=True))),
        "documents": ("documents", lambda: list(document_forms(one))),
        "cumulative": ("documents", lambda: list(cumulative_forms(one))),
        "memory": ("memory", lambda: [Argument(one.name, "memory", "batch key channels", "", one.required)]),
        "memory_mask": ("memory_mask", lambda: list(mask_forms(one))),
        "cache": ("cache", lambda: [Argument(one.name, "cache", "", "", one.required)]),
        "weights": ("weights", lambda: [Argument(one.name, "yes or no", "", "bool", one.required)]),
    }
    if role == "mask" and subject.reads == "qkv":
        return "square_mask", list(square_forms(one))
    if role in known:
        field, forms = known[role]
        return field, forms()
    return "fixed", [{"causal": False, "use_cache": False, "longest_document": subject.length}.get(role)]
