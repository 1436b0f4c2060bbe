"""Where tokens stand and which document each is of: the arguments that a target takes it by."""

import torch

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.choosing import first_form, unused
from edgewise.checks.infer.forms import cumulative_forms, document_forms, position_forms
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.trial import BATCH, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["documents", "positions"]


def positions(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with its argument of positions."""
    if subject.sizes:
        return subject
    given = sampled(subject, BATCH)
    given = given.replace(positions=torch.arange(given.length).expand(BATCH, -1))
    for role in ("positions", "start"):
        for one in takes.get(role, []):
            if subject.positions is not None or one.name in subject.fixed:
                continue
            found = first_form(subject, "positions", position_forms(one, start=role == "start"), given, trial)
            subject = unused(subject, one, trial) if found is None else _from_where(found, given, trial)
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


def documents(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with its argument of documents."""
    if subject.sizes:
        return subject
    given = sampled(subject, BATCH)
    given = given.replace(documents=torch.zeros(BATCH, given.length, dtype=torch.long))
    if subject.documents is not None or subject.reads == "qkv":
        return subject
    for one in takes.get("documents", []):
        if one.name not in subject.fixed and (
            found := first_form(subject, "documents", document_forms(one), given, trial)
        ):
            return found
    for one in takes.get("cumulative", []):
        if one.name not in subject.fixed and (
            found := first_form(subject, "documents", cumulative_forms(one), given, trial)
        ):
            return found
    return subject
