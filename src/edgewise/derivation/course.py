"""The course: every rung of the ladder learns the same text, and what each comes to is set side by side."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from edgewise.derivation.lesson import BLOCK, LESSON, losses, teach, write
from edgewise.derivation.reading import Reading
from edgewise.derivation.screen import Watch, unwatched
from edgewise.ladder import RUNGS, Rung, Size, change, rung
from edgewise.training import Recipe

__all__ = ["COURSE", "LessonResult", "course", "lesson_of"]

SMALL = {"block": BLOCK, "width": 32, "heads": 4, "layers": 2}
# The last rung is what all the others were for: it gets the room that they could not have used.
LARGE = {"block": 32, "width": 64, "heads": 4, "layers": 3}
COURSE = tuple(one.name for one in RUNGS if one.kind == "main" or one.name == "encoder")
BUDGET = replace(LESSON, steps=1000)
OTHERWISE = {
    # A table learns each row alone and rarely: the same budget with larger steps brings it to its end.
    "bigram": replace(BUDGET, learning_rate=3e-2),
    # Some 15 ms a step: what it computes is the next rung's average, which is trained in full.
    "loop": replace(BUDGET, steps=50),
    "gpt": replace(BUDGET, steps=500, optimiser="muon", learning_rate=5e-3),
}


@dataclass(frozen=True)
class LessonResult:
    """What one rung came to. Losses are in nats a character; `lines` counts those changed in the forward pass."""

    rung: str
    lines: int | None
    parameters: int
    steps: int
    start: float
    training: float
    validation: float
    seconds: float
    sample: str

    def record(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        return asdict(self)


def lesson_of(one: Rung, vocabulary: int) -> tuple[Size, Recipe]:
    """Return the size and the recipe with which a rung takes part."""
    return Size(vocabulary, **(LARGE if one.name == "gpt" else SMALL)), OTHERWISE.get(one.name, BUDGET)


def course(reading: Reading, names: Sequence[str] = COURSE, watch: Watch = unwatched) -> Iterator[LessonResult]:
    """Train the rungs of those names one after the other and yield what each came to."""
    for number, name in enumerate(names, 1):
        yield _taught(rung(name), reading, f"{name} ({number} of {len(names)})", watch)


def _taught(one: Rung, reading: Reading, what: str, watch: Watch) -> LessonResult:
    size, recipe = lesson_of(one, reading.tokenizer.size)
    model, corpus = one.build(size), reading.corpus
    windows = 2048 * BLOCK // size.block

    def loss(tokens: Any) -> float:
        return losses(model.eval(), tokens, block=size.block, most=windows).mean().item()

    begun = time.perf_counter()
    start = loss(corpus.validation)
    teach(model, corpus, recipe, block=size.block, tick=lambda done: watch(what, done, recipe.steps))
    return LessonResult(
        one.name,
        change(one.follows, one.name).counts.forward if one.follows else None,
        sum(parameter.numel() for parameter in model.parameters()),
        recipe.steps,
        start,
        loss(corpus.training),
        loss(corpus.validation),
        time.perf_counter() - begun,
        write(one.name, model, size, reading.tokenizer, reading.text[:BLOCK], 60),
    )
