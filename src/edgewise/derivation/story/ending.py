"""How the story ends: every symbol of the formula, and the rung that earned it."""

from edgewise.derivation.ink import Ink
from edgewise.ladder import change, rung

__all__ = ["FORMULA", "accounted", "opening"]

FORMULA = "softmax(QKᵀ/√d)·V"

SYMBOLS = (
    ("softmax", "softmax", "shares: positive, summing to 1, exactly 0 where −∞ says that there is no edge"),
    ("QKᵀ", "scores", "what each position looks for, against what each offers"),
    ("/ √d", "scale", "so that the variance of a score is 1 at any width"),
    ("· V", "values", "what is handed over; shares times rows is a weighted sum, since matmul"),
    ("unsaid", "matmul", "the mask: which edges exist. encoder leaves it out"),
    ("unsaid", "positions", "where a token stands, for a sum knows no order"),
)


def opening(why: str, ink: Ink) -> str:
    """Return how the story begins: where it goes, and on which text."""
    goes = (
        f"{FORMULA} is earned here from 'take an average', one changed line at a time. Every number is worked out now."
    )
    return "\n".join([ink.fold(goes), ink.fold(f"{why[:1].upper()}{why[1:]}.")])


def accounted(ink: Ink) -> str:
    """Return the table of symbols, and the one line that the formula turns on."""
    lines = [ink.rule(f"every symbol of {FORMULA}")]
    for symbol, name, meaning in SYMBOLS:
        lines.append(ink.fold(meaning, f"  {symbol:<9}{ink.write(f'{name:<11}', 'bold')}"))
    before = rung("scores").follows or ""
    line = change(before, "scores").forward
    lines += ["", f"  From an average to attention {line.count} line changed:"]
    lines += [f"    − {text}" for text in line.removed] + [f"    + {text}" for text in line.added]
    return "\n".join(lines)
