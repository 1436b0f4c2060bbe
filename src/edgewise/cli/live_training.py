"""Training behind the page: a rung of the ladder learns a text and is looked at as it learns; no folder is made."""

from collections.abc import Callable, Iterator
from itertools import takewhile

from edgewise.cli.live import ModelLive, Trains
from edgewise.cli.run_target import Reader
from edgewise.derivation import Moment, Reading, follow
from edgewise.ladder import RUNGS
from edgewise.tracing import Given, Target
from edgewise.training import find
from edgewise.views import Seen, Trained

__all__ = ["Training"]

WITHOUT = tuple(one.name for one in takewhile(lambda one: one.name != "scores", RUNGS))
"""Rungs in which no query meets a key: there is no attention to look at."""


class Training(Trains):
    """Trains rungs as `edgewise derive --train` does, on tinyshakespeare where it lies in the cache, else on prose."""

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung, and yield how it stands now and then.

        Raises:
            ArgumentError: there is no such rung, or it is not trained by itself.
        """
        found = find(None, download=False)  # a page asks nobody for anything
        reading = Reading(found.name, found.why, found.read())
        if stop():
            return
        for now in follow(rung, reading, steps, stop):
            seen = _seen(rung, now, reading) if now.sample else None
            yield Trained(now.step, steps, now.loss, now.validation, now.sample, seen, reading.name)


def _seen(rung: str, now: Moment, reading: Reading) -> Seen | None:
    """Its attention on the beginning of its text."""
    if rung in WITHOUT:
        return None
    target = Target(f"{rung} after {now.step:,} steps", now.model, Reader(reading.tokenizer))
    return ModelLive(target).first(Given(text=reading.text[: now.size.block]))
