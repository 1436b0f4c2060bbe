"""Choosing the form of one argument: the first that runs, and whether a mask is yes and no or numbers to add."""

from collections.abc import Iterable

import torch
from torch import Tensor

from edgewise.checks.calls.given import Given
from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.names import Taken
from edgewise.checks.infer.trial import Trial

__all__ = ["added", "first_form", "hidden", "nothing_padded", "unused"]


def first_form(subject: Subject, field: str, forms: Iterable[Argument], given: Given, trial: Trial) -> Subject | None:
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
            return added(tried, field, given, trial)
        found = found or tried
    return found


def added(subject: Subject, field: str, given: Given, trial: Trial) -> Subject:
    """A mask laid over pairs that hides nothing as yes and no, and does as numbers to add, is one of numbers to add."""
    argument: Argument = getattr(subject, field)
    if argument.form not in ("keep", "hide") or argument.shape not in _BROAD or not subject.finite:
        return subject
    numbers = Argument(argument.name, "additive", argument.shape, "float", argument.required)
    tried = subject.replace(**{field: numbers})
    return tried if not hidden(subject, given, trial) and hidden(tried, given, trial) else subject


_BROAD = ("batch 1 1 key", "query key", "batch 1 query key", "batch query key", "batch*heads query key")


def hidden(subject: Subject, given: Given, trial: Trial, changed: int = 1) -> bool:
    """Whether what is hidden by the mask, the second token or key, moves no other; or another that is `changed`."""
    keep, allowed = given.keep, given.allowed
    if keep is not None:
        keep = keep.clone()
        keep[:, 1] = False
    if allowed is not None:
        allowed = allowed.clone()
        allowed[:, 1] = False
    given = given.replace(keep=keep, allowed=allowed)
    one, two = trial.answer(subject, given), trial.answer(subject, _other(subject, given, changed))
    if one is None or two is None:
        return False
    rows = [row for row in range(one.out.shape[-2]) if row != changed or given.value is not None]
    return torch.equal(one.out[..., rows, :], two.out[..., rows, :])


def _other(subject: Subject, given: Given, at: int) -> Given:
    """With something else in a place."""
    if given.value is not None:
        value = given.value.clone()
        value[:, :, at] += 1
        return given.replace(value=value)
    tokens = given.tokens.clone()
    tokens[:, at] = tokens[:, at + 1] if subject.reads == "ids" else tokens[:, at] + 1
    return given.replace(tokens=tokens)


def nothing_padded(given: Given) -> Tensor:
    """Nothing is padding."""
    keys = given.length if given.key is None else given.key.shape[2]
    return torch.ones(given.batch, keys, dtype=torch.bool)


def unused(subject: Subject, one: Taken, trial: Trial) -> Subject:
    """The subject with a note that nothing is given to an argument, and why."""
    why = trial.failures[-1] if trial.failures else "no time was left"
    return subject.replace(
        notes=(*subject.notes, f"nothing is given to {one.name}: every form that was tried fails ({why})")
    )
