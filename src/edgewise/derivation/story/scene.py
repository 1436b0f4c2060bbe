"""A scene: one rung as a person reads it."""

from dataclasses import dataclass
from typing import Any

from edgewise.derivation.ink import Ink
from edgewise.ladder import change, rung

__all__ = ["Scene", "told"]

MOST = 12  # changed lines that the story shows of one rung


@dataclass(frozen=True)
class Scene:
    """What is told of one rung: the numbers, then what the rung buys and what it still lacks.

    `numbers` are lines laid out already; the idea and the changed lines come from the ladder.
    """

    rung: str
    numbers: str
    buys: str
    lacks: str

    def record(self) -> dict[str, Any]:
        """Return the scene as JSON can hold it, the computed change included."""
        one = rung(self.rung)
        changed = change(one.follows, one.name).data() if one.follows else None
        return {
            "rung": self.rung,
            "says": one.says,
            "change": changed,
            "numbers": self.numbers.splitlines(),
            "buys": self.buys,
            "lacks": self.lacks,
        }


def told(scene: Scene, ink: Ink, *, whole: bool = False) -> str:
    """Return a scene for the terminal; `whole` shows every changed line, not only the first of the forward pass."""
    one = rung(scene.rung)
    parts = [ink.rule(f"{one.name}: {one.says}" if len(one.name + one.says) < ink.width - 8 else one.name)]
    if len(one.name + one.says) >= ink.width - 8:
        parts.append(ink.fold(one.says))
    if one.follows:
        parts += ["", _changed(one.follows, one.name, ink, whole)]
    elif whole:
        parts += ["", "The first rung: there is nothing before it."]
    parts += ["", scene.numbers.rstrip()] if scene.numbers else []
    parts.append("")
    for text, sign, colour in ((scene.buys, "+ ", "green"), (scene.lacks, "− ", "red")):
        parts += [ink.fold(text, ink.write(sign, colour, "bold"))] if text else []
    return "\n".join(parts)


def _changed(before: str, after: str, ink: Ink, whole: bool) -> str:
    difference = change(before, after)
    counts = difference.counts
    feeds = f", {counts.constructor} in the constructor that feed it" if counts.constructor else ""
    lines = "line" if counts.forward == 1 else "lines"
    title = ink.write(f"from {before}: {counts.forward} {lines} of the forward pass{feeds}", "dim")
    if whole:
        return f"{title}\n{difference.text(colour=ink.colour)}"
    shown = difference.forward.text(colour=ink.colour, context=0).splitlines()
    cut = [_cut(line, ink) for line in shown[:MOST]]
    if len(shown) > MOST:
        cut.append(ink.write(f"  … all of it: edgewise derive {after}", "dim"))
    return "\n".join([title, *cut])


def _cut(line: str, ink: Ink) -> str:
    """A line of code that is too long for the page is not folded but cut, and says so by an ellipsis."""
    # A coloured line carries characters that take no room: 5 of a colour, 4 of its end.
    room = ink.width + (9 if ink.colour and line.endswith("\033[0m") else 0)
    return (
        line
        if len(line) <= room
        else line[: room - 5] + ("\033[0m…" if ink.colour else line[room - 5 : room - 1] + "…")
    )
