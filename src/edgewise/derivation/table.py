"""The table of the course: a line a rung, and what each writes."""

from collections.abc import Sequence

from edgewise.derivation.course import BUDGET, LessonResult, lesson_of
from edgewise.derivation.expected import spoken
from edgewise.derivation.ink import Ink
from edgewise.derivation.lesson import BLOCK
from edgewise.derivation.reading import Reading
from edgewise.ladder import rung

__all__ = ["beforehand", "head", "line", "notes", "samples"]

SECONDS = 40  # of the whole course, on two cores


def beforehand(names: Sequence[str], reading: Reading, ink: Ink) -> str:
    """Return what is about to be trained, on what, and how long it takes."""
    lessons = {name: lesson_of(rung(name), reading.tokenizer.size) for name in names}
    steps = {name: recipe.steps for name, (_, recipe) in lessons.items()}
    usual = max(steps.values())
    larger = {name: lesson for name, lesson in lessons.items() if lesson[0].block != BLOCK}
    said = (
        f"{reading.why[:1].upper()}{reading.why[1:]}. Each rung learns it ({len(reading.text):,} characters, the last "
        f"tenth held out): {usual} steps of {BUDGET.batch} windows"
    )
    fewer = [f"{name} {count}, being slow" for name, count in steps.items() if count < usual and name not in larger]
    large = [
        f"{name} is larger (block {size.block}, width {size.width}): {recipe.steps} by {recipe.optimiser}"
        for name, (size, recipe) in larger.items()
    ]
    whole = [f"about {SECONDS} s in all"] if len(names) > 2 else []
    text = "; ".join([said, *fewer, *large, *whole]) + ". Losses are nats a character."
    return "\n".join([ink.rule("the ladder trained"), ink.fold(text), ""])


def head(ink: Ink) -> str:
    """Return the names of the columns."""
    first = f"{'rung':<12}{'lines':>6}{'parameters':>12}{'start':>8}{'training':>10}"
    return ink.write(f"{first}{'validation':>12}{'change':>9}{'':>3}{'seconds':>8}", "bold")


def line(result: LessonResult, others: Sequence[LessonResult], ink: Ink) -> str:
    """Return the line of one rung; `change` is its validation loss less that of the rung that it follows."""
    before = {other.rung: other.validation for other in others}.get(rung(result.rung).follows or "")
    change = 0.0 if before is None else round(result.validation - before, 2)
    mark, colour = ("▼", "green") if change < 0 else ("▲", "red") if change > 0 else ("=", "dim")
    written = "" if before is None else f"{change:+.2f}".replace("-", "−") if change else "0.00"
    return (
        f"{result.rung:<12}{'–' if result.lines is None else result.lines:>6}{result.parameters:>12,}"
        f"{result.start:>8.2f}{result.training:>10.3f}{result.validation:>12.3f}"
        f"{written:>9} {ink.write(mark if written else ' ', colour)} {result.seconds:>8.1f}"
    )


def notes(results: Sequence[LessonResult], ink: Ink) -> str:
    """Return what the numbers mean where they would surprise; each note only where its numbers are there."""
    found = {result.rung: result.validation for result in results}
    said: list[str] = []
    if found.get("matmul", 0) > found.get("split", 9):
        said.append(
            "An average alone costs: no position knows any more which token it is itself. From scores on it pays."
        )
    if found.get("encoder", 9) < found.get("scale", 0):
        said.append("The encoder's loss is no success: it reads the answer, and what it writes without one is garbage.")
    return "\n".join(ink.fold(note) for note in said)


def samples(results: Sequence[LessonResult], ink: Ink) -> str:
    """Return what each rung writes, its own words after the prompt, a line each."""
    room = ink.width - 12
    lines = [f"{result.rung:<12}{spoken(result.sample)[:room]}".rstrip() for result in results]
    return "\n".join([ink.write("what each writes, all with the same dice (⏎ ends a line)", "bold"), *lines])
