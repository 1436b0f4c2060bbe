"""Masks that a target takes: of padding, or over pairs of query and key."""

from dataclasses import replace

import torch

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.choosing import added, first_form, hidden, nothing_padded, unused
from edgewise.checks.infer.forms import mask_forms, square_forms
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.trial import BATCH, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["masks", "required_masks", "square_masks"]


def required_masks(subject: Subject, trial: Trial) -> Subject:
    """Masks that it must be given: whether yes and no, or numbers to add."""
    given = sampled(subject, BATCH)
    if subject.square_mask is not None:
        subject = added(subject, "square_mask", _squared(subject), trial)
    if subject.mask is not None and not subject.sizes:
        subject = added(subject, "mask", given.replace(keep=nothing_padded(given)), trial)
    return subject


def masks(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with its mask of padding."""
    if subject.sizes:
        return subject  # what stands for a token is not known before it is called
    if subject.mask is not None:
        return _also_square(subject, trial)
    given = sampled(subject, BATCH)
    given = given.replace(keep=nothing_padded(given))
    squared = subject.square_mask
    if squared is not None and not takes.get("mask"):
        # What is a square for all sequences may be another for each: then it can tell padding.
        wide = (Argument(squared.name, squared.form, shape, squared.dtype, squared.required) for shape in _WIDE)
        return _also_square(first_form(subject, "mask", wide, given, trial) or subject, trial)
    for one in takes.get("mask", []):
        if one.name in subject.fixed:
            continue
        numbers, turned = subject.library == "transformers", subject.layout == "time first"
        found = first_form(subject, "mask", mask_forms(one, numbers=numbers, turned=turned), given, trial)
        if found is not None:
            return _also_square(_with_memory(found, given, trial), trial)
        if subject.square_mask is None:
            squared = _square(subject, one, trial)
            if squared is not None:
                subject = squared
                continue
        subject = unused(subject, one, trial)
    for one in takes.get("lengths", []):
        form = Argument(one.name, "lengths", "batch", "int", one.required)
        found = first_form(subject, "mask", [form], given, trial)
        if found is not None:
            return found
    return subject


def _with_memory(subject: Subject, given: Given, trial: Trial) -> Subject:
    """A mask of the library that hides what it says over memory and tokens, and not over tokens alone, is over both."""
    mask = subject.mask
    if subject.library != "transformers" or subject.memory is None or subject.memory_sizes or mask is None:
        return subject
    if mask.shape != "batch key" or _tells(subject, given, trial):
        return subject
    tried = subject.replace(mask=replace(mask, shape="batch memory+key"))
    return tried if _tells(tried, given, trial) else subject


def _tells(subject: Subject, given: Given, trial: Trial) -> bool:
    """Whether what is hidden moves no other token, and what is not hidden does."""
    return hidden(subject, given, trial) and not hidden(subject, given, trial, changed=2)


_WIDE = ("batch 1 1 key", "batch 1 key")


def _also_square(subject: Subject, trial: Trial) -> Subject:
    """A mask that is laid over all pairs may differ by pair too."""
    mask = subject.mask
    wide = {"batch 1 1 key": "batch 1 query key", "batch 1 key": "batch query key"}
    if mask is None or mask.shape not in wide or (subject.square_mask or mask).name != mask.name:
        return subject
    form = Argument(mask.name, mask.form, wide[mask.shape], mask.dtype, mask.required)
    return first_form(subject, "square_mask", [form], _squared(subject), trial) or subject


def _square(subject: Subject, one: Taken, trial: Trial) -> Subject | None:
    hidden = subject.library == "torch"
    return first_form(subject, "square_mask", square_forms(one, hidden=hidden), _squared(subject), trial)


def _squared(subject: Subject) -> Given:
    given = sampled(subject, BATCH)
    keys = given.length if given.key is None else given.key.shape[2]
    return given.replace(allowed=torch.ones(given.length, keys, dtype=torch.bool))


def square_masks(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with its mask over pairs, or with one of padding under such a name."""
    for one in takes.get("square", []) if not subject.sizes else []:
        if subject.square_mask is not None or one.name in subject.fixed:
            break
        found = _square(subject, one, trial)
        if found is None and subject.mask is None:
            given = sampled(subject, BATCH)
            found = first_form(subject, "mask", mask_forms(one), given.replace(keep=nothing_padded(given)), trial)
        subject = found or unused(subject, one, trial)
    return subject
