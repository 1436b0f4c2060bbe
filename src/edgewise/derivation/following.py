"""A lesson followed as it goes on: its loss, what the model writes by now, and the model itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from torch import nn

from edgewise.derivation.course import lesson_of
from edgewise.derivation.lesson import BLOCK, losses, steps_of, write
from edgewise.derivation.reading import Reading
from edgewise.errors import ArgumentError
from edgewise.ladder import Size
from edgewise.ladder import rung as find_rung

__all__ = ["Moment", "follow"]

LOSSES, LOOKS = 60, 8
"""How often a lesson tells of its loss, and how often of all there is."""
WINDOWS = 2048
SAMPLE = 60


@dataclass(frozen=True, eq=False)
class Moment:
    """How a lesson stands after `step` steps. Losses are nats a token."""

    step: int
    steps: int
    loss: float
    """Mean over the steps since the moment before; before the first step, that of the held-out text."""
    size: Size
    model: nn.Module
    """As it is now: the lesson goes on when the next moment is asked for."""
    validation: float | None = None
    sample: str = ""


def follow(
    name: str, reading: Reading, steps: int | None = None, stop: Callable[[], bool] = lambda: False
) -> Iterator[Moment]:
    """Train a rung as `edgewise derive --train` does, and tell how it stands now and then.

    Args:
        name: the rung.
        reading: what it learns from.
        steps: how many; None for as many as in the course, which gives the same numbers.
        stop: asked before each step; true ends the lesson.

    Raises:
        ArgumentError: there is no such rung, or it is no model of one text.
    """
    one = find_rung(name)
    if name == "cross":
        raise ArgumentError("cross reads two sequences: it is not trained as a language model")
    size, recipe = lesson_of(one, reading.tokenizer.size)
    recipe = recipe if steps is None else replace(recipe, steps=steps)
    model, corpus = one.build(size), reading.corpus

    def look(step: int, loss: float | None) -> Moment:
        model.eval()
        validation = losses(model, corpus.validation, block=size.block, most=WINDOWS * BLOCK // size.block)
        sample = write(name, model, size, reading.tokenizer, reading.text[:BLOCK], SAMPLE)
        mean = validation.mean().item()
        return Moment(step, recipe.steps, mean if loss is None else loss, size, model, mean, sample)

    yield look(0, None)
    often, seldom = (max(1, recipe.steps // times) for times in (LOSSES, LOOKS))
    since: list[float] = []
    for step, loss in enumerate(steps_of(model.train(), corpus, recipe, block=size.block), 1):
        since.append(loss)
        if stop():
            return
        if step % seldom == 0 or step == recipe.steps:
            yield look(step, sum(since) / len(since))
            model.train()
        elif step % often == 0:
            yield Moment(step, recipe.steps, sum(since) / len(since), size, model)
        else:
            continue
        since.clear()
