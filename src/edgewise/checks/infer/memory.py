"""What cross attention reads, where a target takes it, and the mask over it."""

from dataclasses import replace

import torch

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.choosing import first_form, unused
from edgewise.checks.infer.forms import mask_forms
from edgewise.checks.infer.memories import memories
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.trial import BATCH, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["memory"]


def memory(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """What cross attention reads, where that may be left out, and the mask over it."""
    for one in takes.get("memory", []):
        if subject.memory is not None or one.name in subject.fixed:
            continue
        argument = Argument(one.name, "memory", "batch key channels")
        several = memories(subject.replace(memory=argument))
        fits = next((one for one in several if trial.answer(one, sampled(one, BATCH)) is not None), None)
        subject = unused(subject, one, trial) if fits is None else fits
    if subject.memory is None or subject.memory_mask is not None or subject.memory_sizes:
        return subject
    given = sampled(subject, BATCH)
    assert given.memory is not None
    given = given.replace(memory_keep=torch.ones(given.memory.shape[:2], dtype=torch.bool))
    for one in sorted(takes.get("memory_mask", []), key=lambda one: "padding" not in one.name):
        if one.name not in subject.fixed:
            numbers = subject.library == "transformers"
            found = first_form(subject, "memory_mask", mask_forms(one, numbers=numbers), given, trial)
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
