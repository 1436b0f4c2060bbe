"""Arguments that a target can be called without: which of them it takes, and in which form."""

from dataclasses import replace

from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.choosing import unused
from edgewise.checks.infer.masks import masks, required_masks, square_masks
from edgewise.checks.infer.memory import memory
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.places import documents, positions
from edgewise.checks.infer.trial import BATCH, PLAIN, Trial
from edgewise.checks.infer.weights import weights
from edgewise.checks.lab.sampling import sampled

__all__ = ["optional"]


def optional(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with every argument that was found to be taken."""
    subject = required_masks(subject, trial)
    for find in (weights, masks, square_masks, positions, documents, memory, _flags):
        subject = find(subject, takes, trial)
    return subject


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
            subject = unused(subject, one, trial)
    for one in takes.get("causal", []) if subject.library != "torch" else []:  # there it only says what a mask is
        if one.name in subject.fixed or subject.causal_flag is not None or one.default is True:
            continue
        if trial.answer(subject, given, replace(PLAIN, switches=((one.name, True),))) is not None:
            subject = subject.replace(causal_flag=Argument(one.name, "yes or no", "", "bool", one.required))
    return subject.replace(switches=tuple(ways))
