"""Ink: text made to stand out on a terminal, and left alone where the output is kept."""

import re
from dataclasses import dataclass
from textwrap import wrap

__all__ = ["Ink"]

CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}
CODED = re.compile("\033\\[[0-9;]*m")


@dataclass(frozen=True)
class Ink:
    """How text is written: with colour or without, and how many characters wide."""

    colour: bool = False
    width: int = 80

    def write(self, text: str, *styles: str) -> str:
        """Return `text` in styles (bold, dim, red, green, yellow, blue), or as it is where there is no colour."""
        if not self.colour or not text:
            return text
        return f"\033[{';'.join(CODES[style] for style in styles)}m{text}\033[0m"

    def fold(self, text: str, first: str = "", rest: str | None = None) -> str:
        """Return `text` in lines that fit, the first begun with `first` and the others with `rest`, or as much room."""
        rest = " " * len(CODED.sub("", first)) if rest is None else rest
        room = self.width - len(rest)
        lines = wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        return "\n".join((first if number == 0 else rest) + line for number, line in enumerate(lines))

    def rule(self, title: str) -> str:
        """Return a line across the page with a title in it."""
        return self.write(f"── {title} ", "bold") + self.write("─" * max(0, self.width - len(title) - 4), "dim")
