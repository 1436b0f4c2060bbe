"""What `edgewise derive` does, as a function: the story of the ladder, its lessons, and its claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewise.derivation import report, story, table
from edgewise.derivation.choose import choose
from edgewise.derivation.claim import Claim, ClaimResult
from edgewise.derivation.course import COURSE, LessonResult, course
from edgewise.derivation.ink import Ink
from edgewise.derivation.lab import Lab
from edgewise.derivation.reading import Reading
from edgewise.derivation.screen import Screen
from edgewise.derivation.story import Scene, ending
from edgewise.errors import ArgumentError
from edgewise.ladder import rung as find_rung

__all__ = ["Derivation", "derive"]


@dataclass(frozen=True)
class Derivation:
    """What was told, trained and measured; what was not asked for is empty. As a string it is what a person reads."""

    scenes: tuple[Scene, ...] = ()
    lessons: tuple[LessonResult, ...] = ()
    claims: tuple[ClaimResult, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no claim failed; a skipped one has not."""
        return all(result.status != "fails" for result in self.claims)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it: the parts that were asked for."""
        parts = {"rungs": self.scenes, "lessons": self.lessons, "claims": self.claims}
        return {name: [one.record() for one in part] for name, part in parts.items() if part}

    def __str__(self) -> str:
        ink = Ink()
        told = [story.told(scene, ink, whole=len(self.scenes) == 1) for scene in self.scenes]
        if self.lessons:
            lines = [table.line(one, self.lessons, ink) for one in self.lessons]
            told.append("\n".join([table.head(ink), *lines, "", table.samples(self.lessons, ink)]))
        told += [report.told(result, ink) for result in self.claims]
        return "\n\n".join(told)


def derive(
    rung: str | None = None,
    *,
    train: bool = False,
    claims: bool | Sequence[str] = False,
    quick: bool = False,
    text: str | Path | None = None,
    screen: Screen | None = None,
) -> Derivation:
    """Tell how attention is earned from an average, rung by rung; train the rungs; or run the claims.

    Args:
        rung: tell of this rung only.
        train: let the rungs learn the text for some seconds each, after the telling.
        claims: run claims in the place of the telling: all of them, or those of these ids, sections or patterns.
        quick: leave out the claims that train.
        text: the file to read; None for the default text.
        screen: where to show things as they come; None shows nothing and returns all of it.

    Raises:
        ArgumentError: no rung or claim has that name, or two things are asked for that do not go together.
        MissingError: there is no such text.
        DataError: the text cannot be used.

    Example:
        >>> result = derive(claims=["hand"])
        >>> print(result.claims[0])
        hand.worked-table holds: u scores [4, 0.5, 2.5] · u weights [0.7979, 0.02409, 0.178] · u out [8.869, 1.131]
    """
    screen = screen or Screen()
    paths = None if text is None else [text]
    if claims is not False:
        if rung is not None or train:
            raise ArgumentError("claims are run by themselves: leave out the rung and --train")
        chosen = choose(() if claims is True else claims, quick=quick)
        return Derivation(claims=_measured(chosen, paths, screen))
    if quick:
        raise ArgumentError("quick leaves out the claims that train; it needs claims")
    names = tuple(story.SCENES) if rung is None else (find_rung(rung).name,)
    reading = Reading.find(paths)
    scenes = _told(names, reading, screen)
    lessons = _trained(rung, reading, screen) if train else ()
    return Derivation(scenes, lessons)


def _measured(chosen: Sequence[Claim], paths: Sequence[str | Path] | None, screen: Screen) -> tuple[ClaimResult, ...]:
    # A text is looked for only where a claim reads one: the others need nothing, not even a file.
    reading = Reading.find(paths) if any(claim.needs_corpus for claim in chosen) else None
    lab = Lab(reading, screen.watch)
    screen.show(report.beforehand(chosen, screen.ink, trains=reading is not None and reading.is_tinyshakespeare))
    results: list[ClaimResult] = []
    for claim in chosen:
        results.append(claim.run(lab))
        screen.show("\n" + report.told(results[-1], screen.ink))
    screen.show("\n" + report.counted(results, screen.ink))
    return tuple(results)


def _told(names: Sequence[str], reading: Reading, screen: Screen) -> tuple[Scene, ...]:
    scenes: list[Scene] = []
    whole = len(names) == 1
    if not whole:
        screen.show(ending.opening(reading.why, screen.ink))
    for name in names:
        scenes.append(story.SCENES[name](reading))
        screen.show(("" if whole else "\n") + story.told(scenes[-1], screen.ink, whole=whole))
    if not whole:
        screen.show("\n" + ending.accounted(screen.ink))
    return tuple(scenes)


def _trained(name: str | None, reading: Reading, screen: Screen) -> tuple[LessonResult, ...]:
    names = COURSE if name is None else _with_the_one_before(name)
    screen.show("\n" + table.beforehand(names, reading, screen.ink))
    screen.show(table.head(screen.ink))
    results: list[LessonResult] = []
    for result in course(reading, names, screen.watch):
        screen.show(table.line(result, results, screen.ink))
        results.append(result)
    for text in (table.notes(results, screen.ink), table.samples(results, screen.ink)):
        screen.show("\n" + text if text else "")
    return tuple(results)


def _with_the_one_before(name: str) -> tuple[str, ...]:
    if name not in COURSE:
        raise ArgumentError(f"{name} is not trained as a language model here; those that are: {', '.join(COURSE)}")
    before = find_rung(name).follows
    return (before, name) if before in COURSE else (name,)
