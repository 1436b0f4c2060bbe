"""What a person reads when claims are run: one entry a claim, and a last line that counts them."""

from collections import Counter
from collections.abc import Sequence

from edgewise.derivation.claim import Claim, ClaimResult
from edgewise.derivation.expected import spoken
from edgewise.derivation.ink import Ink

__all__ = ["beforehand", "counted", "told"]

MARKS = {"holds": ("✓", "green"), "fails": ("✗", "red"), "skipped": ("–", "yellow")}
ROOM = 12  # characters before the text of an entry


def beforehand(claims: Sequence[Claim], ink: Ink, *, trains: bool) -> str:
    """Return what is about to be run, and how long its training takes where the text for it is there."""
    seconds = sum(claim.seconds or 0 for claim in claims)
    training = [claim.id for claim in claims if claim.seconds]
    many = f"{len(claims)} claims" if len(claims) != 1 else "1 claim"
    if not training or not trains:
        return f"{many}; nothing is trained, so this takes seconds."
    which = f"{len(training)} of them train" if len(claims) > 1 else "it trains"
    return ink.fold(f"{many}; {which} small models, about {seconds:.0f} s on two cores: {', '.join(training)}.")


def told(result: ClaimResult, ink: Ink) -> str:
    """Return the entry of one claim: what it says, what was measured, and what was expected."""
    mark, colour = MARKS[result.status]
    status = ink.write(f"{mark} {result.status:<{ROOM - 3}}", "bold", colour)
    taken = f"{result.seconds:.2f} s" if result.status != "skipped" else ""
    head = f"{status} {ink.write(result.id, 'bold')}{taken:>{max(1, ink.width - ROOM - len(result.id))}}"
    lines = [head, ink.fold(result.says, " " * ROOM)]
    if result.why:
        return "\n".join([*lines, ink.fold(f"skipped: {result.why}", " " * ROOM)])
    measured, expected = spoken(result.measured), spoken(result.expected)
    lines.append(ink.fold(measured, ink.write(f"{'  measured':<{ROOM}}", "dim")))
    if not (result.status == "holds" and measured.startswith(expected)):
        lines.append(ink.fold(expected, ink.write(f"{'  expected':<{ROOM}}", "dim")))
    return "\n".join(lines)


def counted(results: Sequence[ClaimResult], ink: Ink) -> str:
    """Return the last line: how many hold, fail and were skipped, and which failed."""
    counts = Counter(result.status for result in results)
    parts = [
        ink.write(f"{MARKS[status][0]} {counts[status]} {word}", "bold", MARKS[status][1])
        for status, word in (("holds", "hold"), ("fails", "fail"), ("skipped", "skipped"))
        if counts[status]
    ]
    line = f"{len(results)} claims in {sum(result.seconds for result in results):.1f} s: {', '.join(parts)}"
    failed = [result.id for result in results if result.status == "fails"]
    if failed:
        line += f"\nfailed: {', '.join(failed)}"
    if counts["skipped"]:
        line += "\nSkipped claims are about tinyshakespeare: name it with --text PATH."
    return line
