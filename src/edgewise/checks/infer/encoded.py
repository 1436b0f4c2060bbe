"""Whether a model of the library takes what its encoder gave in place of what that read."""

import inspect
from dataclasses import replace

import torch

from edgewise.checks.calls.encoded import ENCODED, encoder_of
from edgewise.checks.calls.subject import Subject
from edgewise.checks.infer.trial import BATCH, PLAIN, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["encodes_once"]


def encodes_once(subject: Subject, trial: Trial) -> Subject:
    """The subject with its encoder run for the first part of a text alone, if the others come out the same."""
    caching, module = subject.caching, subject.module
    if caching is None or subject.memory is None or module is None or subject.library != "transformers":
        return subject
    if caching.method != "forward" or encoder_of(subject) is None:
        return subject
    if ENCODED not in inspect.signature(module.forward).parameters:
        return subject
    tried = subject.replace(caching=replace(caching, encoded=True))
    given = sampled(subject, BATCH)
    if subject.memory_mask is not None and given.memory is not None:
        keep = torch.ones(given.memory.shape[:2], dtype=torch.bool)
        keep[0, -1] = False
        given = given.replace(memory_keep=keep)
    route = replace(PLAIN, cached=(max(1, given.length // 2), 1))
    one, two = (trial.answer(each, given, route) for each in (subject, tried))
    if one is None or two is None or not one.finite:
        return subject
    return tried if torch.allclose(one.out, two.out, rtol=1e-4, atol=1e-5) else subject
