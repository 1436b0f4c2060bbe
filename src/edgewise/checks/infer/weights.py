"""How weights are asked for, and where they are in what is returned."""

from dataclasses import replace

from edgewise.checks.calls.calling import Answer
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.results import at, parts, weights_in
from edgewise.checks.calls.subject import Argument, Path, Subject
from edgewise.checks.infer.choosing import unused
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.trial import BATCH, PLAIN, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["weights"]


def weights(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
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
        subject = unused(subject, one, trial)
    found = trial.answer(subject, given)
    if found is not None and subject.reads != "qkv":
        where = weights_in(found.result, subject.output, BATCH, given.length, given.length)
        subject = subject.replace(weights_at=where)
    return subject


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
