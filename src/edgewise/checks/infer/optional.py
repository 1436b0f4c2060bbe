"""Arguments that a target can be called without: which of them it takes, and in which form."""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from edgewise.checks.calling import Answer
from edgewise.checks.given import Given
from edgewise.checks.infer.forms import cumulative_forms, document_forms, mask_forms, position_forms, square_forms
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.trial import BATCH, PLAIN, Trial
from edgewise.checks.results import at, parts, weights_in
from edgewise.checks.sampling import sampled
from edgewise.checks.subject import Argument, Path, Subject

__all__ = ["optional"]


def optional(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with every argument that was found to be taken."""
    subject = _required(subject, trial)
    for find in (_weights, _masks, _squares, _positions, _documents, _memory, _flags):
        subject = find(subject, takes, trial)
    return subject


def _required(subject: Subject, trial: Trial) -> Subject:
    """Masks that it must be given: whether yes and no, or numbers to add."""
    given = sampled(subject, BATCH)
    if subject.square_mask is not None:
        subject = _added(subject, "square_mask", _squared(subject), trial)
    if subject.mask is not None and not subject.sizes:
        subject = _added(subject, "mask", given.replace(keep=_ones(given)), trial)
    return subject


def _ones(given: Given) -> Tensor:
    """Nothing is padding."""
    keys = given.length if given.key is None else given.key.shape[2]
    return torch.ones(given.batch, keys, dtype=torch.bool)


def _first(subject: Subject, field: str, forms: Iterable[Argument], given: Given, trial: Trial) -> Subject | None:
    """With the first form that runs, in the first shape and dtype of it that gives numbers.

    A form that runs and gives NaN keeps another form out: what True means is the name's to say, and a target that takes
    it the other way round is to be caught, not followed.
    """
    found: Subject | None = None
    for form in forms:
        if found is not None and form.form != getattr(found, field).form:
            break
        tried = subject.replace(**{field: form})
        said = trial.answer(tried, given)
        if said is None:
            continue
        if said.finite or not subject.finite:
            return _added(tried, field, given, trial)
        found = found or tried
    return found


def _added(subject: Subject, field: str, given: Given, trial: Trial) -> Subject:
    """A mask laid over pairs that hides nothing as yes and no, and does as numbers to add, is one of numbers to add."""
    argument: Argument = getattr(subject, field)
    if argument.form not in ("keep", "hide") or argument.shape not in _BROAD or not subject.finite:
        return subject
    numbers = Argument(argument.name, "additive", argument.shape, "float", argument.required)
    tried = subject.replace(**{field: numbers})
    return tried if not _hidden(subject, given, trial) and _hidden(tried, given, trial) else subject


_BROAD = ("batch 1 1 key", "query key", "batch 1 query key", "batch query key", "batch*heads query key")


def _hidden(subject: Subject, given: Given, trial: Trial) -> bool:
    """Whether what is hidden by the mask, the second token or key, moves no other."""
    keep, allowed = given.keep, given.allowed
    if keep is not None:
        keep = keep.clone()
        keep[:, 1] = False
    if allowed is not None:
        allowed = allowed.clone()
        allowed[:, 1] = False
    given = given.replace(keep=keep, allowed=allowed)
    one, two = trial.answer(subject, given), trial.answer(subject, _other(subject, given))
    if one is None or two is None:
        return False
    rows = [row for row in range(one.out.shape[-2]) if row != 1 or given.value is not None]
    return torch.equal(one.out[..., rows, :], two.out[..., rows, :])


def _other(subject: Subject, given: Given) -> Given:
    """With something else in the second place."""
    if given.value is not None:
        value = given.value.clone()
        value[:, :, 1] += 1
        return given.replace(value=value)
    tokens = given.tokens.clone()
    tokens[:, 1] = tokens[:, 2] if subject.reads == "ids" else tokens[:, 1] + 1
    return given.replace(tokens=tokens)


def _masks(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    if subject.sizes:
        return subject  # what stands for a token is not known before it is called
    if subject.mask is not None:
        return _also_square(subject, trial)
    given = sampled(subject, BATCH)
    given = given.replace(keep=_ones(given))
    squared = subject.square_mask
    if squared is not None and not takes.get("mask"):
        # What is a square for all sequences may be another for each: then it can tell padding.
        wide = (Argument(squared.name, squared.form, shape, squared.dtype, squared.required) for shape in _WIDE)
        return _also_square(_first(subject, "mask", wide, given, trial) or subject, trial)
    for one in takes.get("mask", []):
        if one.name in subject.fixed:
            continue
        numbers, turned = subject.library == "transformers", subject.layout == "time first"
        found = _first(subject, "mask", mask_forms(one, numbers=numbers, turned=turned), given, trial)
        if found is not None:
            return _also_square(found, trial)
        if subject.square_mask is None:
            squared = _square(subject, one, trial)
            if squared is not None:
                subject = squared
                continue
        subject = _unused(subject, one, trial)
    for one in takes.get("lengths", []):
        form = Argument(one.name, "lengths", "batch", "int", one.required)
        found = _first(subject, "mask", [form], given, trial)
        if found is not None:
            return found
    return subject


_WIDE = ("batch 1 1 key", "batch 1 key")


def _also_square(subject: Subject, trial: Trial) -> Subject:
    """A mask that is laid over all pairs may differ by pair too."""
    mask = subject.mask
    wide = {"batch 1 1 key": "batch 1 query key", "batch 1 key": "batch query key"}
    if mask is None or mask.shape not in wide or (subject.square_mask or mask).name != mask.name:
        return subject
    form = Argument(mask.name, mask.form, wide[mask.shape], mask.dtype, mask.required)
    return _first(subject, "square_mask", [form], _squared(subject), trial) or subject


def _square(subject: Subject, one: Taken, trial: Trial) -> Subject | None:
    hidden = subject.library == "torch"
    return _first(subject, "square_mask", square_forms(one, hidden=hidden), _squared(subject), trial)


def _squared(subject: Subject) -> Given:
    given = sampled(subject, BATCH)
    keys = given.length if given.key is None else given.key.shape[2]
    return given.replace(allowed=torch.ones(given.length, keys, dtype=torch.bool))


def _squares(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    for one in takes.get("square", []) if not subject.sizes else []:
        if subject.square_mask is not None or one.name in subject.fixed:
            break
        found = _square(subject, one, trial)
        if found is None and subject.mask is None:
            given = sampled(subject, BATCH)
            found = _first(subject, "mask", mask_forms(one), given.replace(keep=_ones(given)), trial)
        subject = found or _unused(subject, one, trial)
    return subject


def _positions(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    if subject.sizes:
        return subject
    given = sampled(subject, BATCH)
    given = given.replace(positions=torch.arange(given.length).expand(BATCH, -1))
    for role in ("positions", "start"):
        for one in takes.get(role, []):
            if subject.positions is not None or one.name in subject.fixed:
                continue
            found = _first(subject, "positions", position_forms(one, start=role == "start"), given, trial)
            subject = _unused(subject, one, trial) if found is None else _from_where(found, given, trial)
    return subject


def _from_where(subject: Subject, given: Given, trial: Trial) -> Subject:
    """Which number the first position has, so that saying it changes nothing; else it must always be said."""
    argument = subject.positions
    assert argument is not None
    silent = trial.answer(subject, given.replace(positions=None))
    if silent is None or argument.form == "start":
        return subject
    pad = subject.pad or 0
    for origin in dict.fromkeys((0, 1, 2, pad + 1)):
        shifted = Argument(
            argument.name, argument.form, argument.shape, argument.dtype, argument.required, origin=origin
        )
        said = trial.answer(subject.replace(positions=shifted), given)
        if said is not None and torch.allclose(said.out, silent.out, rtol=1e-4, atol=1e-6, equal_nan=True):
            return subject.replace(positions=shifted)
    if subject.library == "transformers":
        said = f"{argument.name} is left out: counting positions for it changes what it answers"
        return subject.replace(positions=None, notes=(*subject.notes, said))
    always = Argument(argument.name, argument.form, argument.shape, argument.dtype, argument.required, always=True)
    return subject.replace(positions=always)


def _documents(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    if subject.sizes:
        return subject
    given = sampled(subject, BATCH)
    given = given.replace(documents=torch.zeros(BATCH, given.length, dtype=torch.long))
    if subject.documents is not None or subject.reads == "qkv":
        return subject
    for one in takes.get("documents", []):
        if one.name not in subject.fixed and (found := _first(subject, "documents", document_forms(one), given, trial)):
            return found
    for one in takes.get("cumulative", []):
        if one.name not in subject.fixed and (
            found := _first(subject, "documents", cumulative_forms(one), given, trial)
        ):
            return found
    return subject


def _weights(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The argument that asks for weights, and where they are then."""
    given = sampled(subject, BATCH)
    for one in takes.get("weights", []):
        if one.name in subject.fixed:
            continue
        asked = (
            {"average_attn_weights": False}
            if any(t.name == "average_attn_weights" for t in takes.get("switch", []))
            else {}
        )
        tried = subject.replace(weights=Argument(one.name, "yes or no", "", "bool", one.required), weights_asked=asked)
        found = trial.answer(tried, given, replace(PLAIN, weights=True))
        if found is not None and trial.answer(tried, given, replace(PLAIN, weights=False)) is not None:
            return tried.replace(weights_at=_where(tried, found, given, trial))
        subject = _unused(subject, one, trial)
    found = trial.answer(subject, given)
    if found is not None and subject.reads != "qkv":
        where = weights_in(found.result, subject.output, BATCH, given.length, given.length)
        subject = subject.replace(weights_at=where)
    return subject


def _memory(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """What cross attention reads, where that may be left out, and the mask over it."""
    for one in takes.get("memory", []):
        if subject.memory is not None or one.name in subject.fixed:
            continue
        memory = Argument(one.name, "memory", "batch key channels")
        tried = subject.replace(memory=memory, memory_width=subject.width)
        subject = tried if trial.answer(tried, sampled(tried, BATCH)) is not None else _unused(subject, one, trial)
    if subject.memory is None or subject.memory_mask is not None or subject.memory_sizes:
        return subject
    given = sampled(subject, BATCH)
    assert given.memory is not None
    given = given.replace(memory_keep=torch.ones(given.memory.shape[:2], dtype=torch.bool))
    for one in sorted(takes.get("memory_mask", []), key=lambda one: "padding" not in one.name):
        if one.name not in subject.fixed:
            numbers = subject.library == "transformers"
            found = _first(subject, "memory_mask", mask_forms(one, numbers=numbers), given, trial)
            if found is not None:
                return _everywhere(found, takes, given, trial)
    return subject


def _everywhere(subject: Subject, takes: dict[Role, list[Taken]], given: Given, trial: Trial) -> Subject:
    """With the mask of the memory told to encoder and decoder both, where each has an argument for it."""
    mask = subject.memory_mask
    assert mask is not None
    others = (one for one in takes.get("memory_mask", []) if "padding" in one.name and one.name != mask.name)
    also = tuple(one.name for one in others if one.name not in subject.fixed)
    tried = subject.replace(memory_mask=replace(mask, also=also))
    return tried if also and trial.answer(tried, given) is not None else subject


def _where(subject: Subject, found: Answer, given: Given, trial: Trial) -> Path | None:
    """Where weights are once they are asked for, on the first back end that returns them."""
    keys = given.length if given.key is None else given.key.shape[2]
    for backend in (None, *subject.backends):
        if backend is not None:
            again = trial.answer(subject, given, replace(PLAIN, weights=True, backend=backend))
            if again is None:
                continue
            found = again
        if subject.library == "transformers":
            name = "decoder_attentions" if "decoder_attentions" in dict(parts(found.result)) else "attentions"
            where = (name,) if at(found.result, (name, -1)) is not None else None
        else:
            where = weights_in(found.result, subject.output, BATCH, given.length, keys)
        if where is not None:
            return where
    return None


_NO_WAYS = (
    "return",
    "output",
    "get",
    "train",
    "deterministic",
    "verbose",
    "debug",
    "average_attn_weights",
    "inplace",
    "sample",
)
"""Beginnings of the names of arguments that change what is returned, or make it random, and not the way there."""


def _flags(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """Further choices of two: each value that runs is a way."""
    given = sampled(subject, BATCH)
    ways = list(subject.switches)
    known = {name for name, _ in ways}
    for one in takes.get("switch", []):
        if one.name.startswith(_NO_WAYS) or one.name in subject.fixed or one.name in known:
            continue
        other = not one.default
        if trial.answer(subject, given, replace(PLAIN, switches=((one.name, other),))) is not None:
            ways.append((one.name, (one.default, other)))
        else:
            subject = _unused(subject, one, trial)
    for one in takes.get("causal", []) if subject.library != "torch" else []:  # there it only says what a mask is
        if one.name in subject.fixed or subject.causal_flag is not None or one.default is True:
            continue
        if trial.answer(subject, given, replace(PLAIN, switches=((one.name, True),))) is not None:
            subject = subject.replace(causal_flag=Argument(one.name, "yes or no", "", "bool", one.required))
    return subject.replace(switches=tuple(ways))


def _unused(subject: Subject, one: Taken, trial: Trial) -> Subject:
    why = trial.failures[-1] if trial.failures else "no time was left"
    return subject.replace(
        notes=(*subject.notes, f"nothing is given to {one.name}: every form that was tried fails ({why})")
    )
