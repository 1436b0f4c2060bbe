"""What changed from one rung to another: a diff of their source, computed, without comments and docstrings.

A line belongs to the method that it stands in, so that the change to the forward pass (the idea) can be told from the
constructor lines that feed it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from textwrap import dedent
from typing import Any, Literal

from edgewise.ladder.code import Part, code
from edgewise.ladder.rungs import Counts, rung

__all__ = ["Change", "Line", "change"]

Sign = Literal["-", "+", " "]

PLAIN = {"-": "−", "+": "+", " ": " "}
COLOURED = {"-": "\033[31m−", "+": "\033[32m+", " ": "\033[2m "}


@dataclass(frozen=True)
class Line:
    """A line of code: taken away (`-`), put in (`+`), or there before and after (` `)."""

    sign: Sign
    text: str
    where: str
    part: Part


@dataclass(frozen=True)
class Change:
    """How the source of one rung becomes that of another, line by line."""

    before: str
    after: str
    lines: tuple[Line, ...]

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines taken away, without their indentation."""
        return tuple(line.text.strip() for line in self.lines if line.sign == "-")

    @property
    def added(self) -> tuple[str, ...]:
        """The lines put in, without their indentation."""
        return tuple(line.text.strip() for line in self.lines if line.sign == "+")

    @property
    def count(self) -> int:
        """Lines changed; one line in the place of another counts once."""
        runs = groupby(self.lines, key=lambda line: (line.where, line.sign == " "))
        signs = (Counter(line.sign for line in run) for (_, same), run in runs if not same)
        return sum(max(run.values()) for run in signs)

    @property
    def forward(self) -> "Change":
        """The part of it that lies in the forward pass: the idea."""
        return self._only("forward")

    @property
    def constructor(self) -> "Change":
        """The part of it that lies in constructors: what feeds the idea."""
        return self._only("constructor")

    @property
    def elsewhere(self) -> "Change":
        """The rest of it: imports and class headers."""
        return self._only("elsewhere")

    @property
    def counts(self) -> Counts:
        """Lines changed in each part."""
        return Counts(self.forward.count, self.constructor.count, self.elsewhere.count)

    def text(self, *, colour: bool = False, context: int = 1) -> str:
        """Return the change for a terminal: each place named, − before, + after, `context` lines kept around them.

        Example:
            >>> print(change("positions", "scores").forward.text())
            LanguageModel.forward
                x = self.token(tokens) + self.position(length)
              − scores = torch.zeros(length, length).to(x)
              + scores = self.query(x) @ self.key(x).transpose(-2, -1)
                scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
        """
        signs, end = (COLOURED, "\033[0m") if colour else (PLAIN, "")
        written: list[str] = []
        for where, group in groupby(self.lines, key=lambda line: line.where):
            shown = list(_near(list(group), context))
            texts = dedent("\n".join(line.text for line in shown)).splitlines()
            written += [where or "imports"] if shown else []
            written += [f"  {signs[line.sign]} {text}{end}" for line, text in zip(shown, texts, strict=True)]
        return "\n".join(written)

    def data(self) -> dict[str, Any]:
        """Return the change as plain data for JSON and pages, the unchanged lines included."""
        return {**asdict(self), "lines": [asdict(line) for line in self.lines], "counts": self.counts._asdict()}

    def _only(self, part: Part) -> "Change":
        return replace(self, lines=tuple(line for line in self.lines if line.part == part))


def change(before: str, after: str) -> Change:
    """Return what changes in the code from the rung `before` to the rung `after`.

    Raises:
        ArgumentError: there is no rung of one of the names.

    Example:
        >>> change("scale", "encoder").removed
        ('scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)',)
    """
    old, new = _places(rung(before).source()), _places(rung(after).source())
    order = list(new)
    for previous, place in pairwise([None, *old]):
        if place not in new and place is not None:
            order.insert(order.index(previous) + 1 if previous else 0, place)
    lines = (line for place in order for line in _aligned(place, old.get(place, []), new.get(place, [])))
    return Change(before, after, tuple(lines))


def _places(source: str) -> dict[tuple[str, Part], list[str]]:
    """The lines of code of each place, in order: two rungs are compared place by place."""
    places: dict[tuple[str, Part], list[str]] = {}
    for line in code(source):
        places.setdefault((line.where, line.part), []).append(line.text)
    return places


def _aligned(place: tuple[str, Part], old: list[str], new: list[str]) -> Iterator[Line]:
    for kind, old_start, old_stop, new_start, new_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Line(" ", text, *place) for text in old[old_start:old_stop])
        else:
            yield from (Line("-", text, *place) for text in old[old_start:old_stop])
            yield from (Line("+", text, *place) for text in new[new_start:new_stop])


def _near(lines: list[Line], context: int) -> Iterator[Line]:
    """Yield the changed lines of one place and those at most `context` away from one."""
    changed = [number for number, line in enumerate(lines) if line.sign != " "]
    for number, line in enumerate(lines):
        if any(abs(number - other) <= context for other in changed):
            yield line
